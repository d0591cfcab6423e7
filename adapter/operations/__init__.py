"""What ``dbt run-operation`` calls."""
