"""The statements that write captured rows into a table, and the columns and keys that they are made of."""
