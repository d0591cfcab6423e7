"""dbt's access to Spark: connections, the session of this process, and Spark's error messages."""
