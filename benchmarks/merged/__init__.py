"""The cost of following a table that is merged into by key: what each method costs in Spark."""
