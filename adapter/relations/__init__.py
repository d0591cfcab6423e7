"""Relations of dbt: their names, columns, comments and contracts, and how they are found in a catalog."""
