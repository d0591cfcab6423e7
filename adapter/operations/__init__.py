"""The operations of ``dbt run-operation``."""
