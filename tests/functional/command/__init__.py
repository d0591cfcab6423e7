"""The command iceberg-incremental, with real tables."""
