"""The operations for ``dbt run-operation``."""
