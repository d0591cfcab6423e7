"""What the user's dbt project says: its models, their configuration and what their SQL reads."""
