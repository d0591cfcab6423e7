"""The command ``iceberg-incremental``: captures, publishes and aborts runs of jobs in any language, with PyIceberg."""
