"""The user's dbt project: its models, their configs, and the relations that their SQL reads."""
