"""Incremental jobs of PySpark, without dbt: capture what is new in the sources, write, and commit both as one."""
