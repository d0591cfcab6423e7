"""Incremental PySpark jobs without dbt. A run captures new rows of sources, and commits rows and position at once."""
