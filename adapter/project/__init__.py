"""The user's dbt project: its models, their configs, and what their SQL reads."""
