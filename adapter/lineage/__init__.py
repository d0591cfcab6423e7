"""OpenLineage events with the tables that each node of a dbt run read and wrote."""
