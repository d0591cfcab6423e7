"""The statements that write captured rows to a table, and the rules for its columns and keys."""
