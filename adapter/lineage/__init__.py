"""OpenLineage: what each node of a dbt run read and wrote, as events of the OpenLineage specification."""
