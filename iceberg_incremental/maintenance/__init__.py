"""Plans the maintenance of a table from its metadata, without harm to the table's readers. Pure functions."""
