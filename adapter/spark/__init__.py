"""Spark as dbt reaches it: connections, the session of this process, what its errors say."""
