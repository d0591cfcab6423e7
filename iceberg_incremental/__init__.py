"""Incremental processing of Iceberg tables: capture a range of snapshots, apply it, commit where it ended."""
