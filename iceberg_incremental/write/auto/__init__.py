"""The strategy ``auto``: a table is kept equal to its SQL, by replacing the affected rows, its groups, or all rows."""
