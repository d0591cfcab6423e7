"""Incremental PySpark jobs without dbt: capture the new rows of the sources, write, and commit both at once."""
