"""The command ``iceberg-incremental``, which captures, publishes and aborts runs of jobs in any language."""
