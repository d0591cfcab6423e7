"""The connection method ``session``: Spark in this process, and the embedded lakehouse."""
