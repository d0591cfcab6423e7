"""dbt's access to Spark: connections, sessions, and Spark's error messages."""
