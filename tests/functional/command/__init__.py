"""The command iceberg-incremental on real tables."""
