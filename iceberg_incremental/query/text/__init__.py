"""The text of a query: how it is parsed, Spark's functions and types, and the comparison with Spark's plan."""
