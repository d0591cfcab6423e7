"""OpenLineage events of what each node of a dbt run read and wrote."""
