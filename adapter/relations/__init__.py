"""dbt's relations: their names, columns, comments and contracts, and their lookup in a catalog."""
