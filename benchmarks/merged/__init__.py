"""Measures the cost in Spark of each method that follows a table which is merged into by key."""
