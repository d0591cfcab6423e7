"""The operations for ``dbt run-operation``, and what dbt's docs and freshness commands read from metadata."""
