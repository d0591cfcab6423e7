"""What it costs to follow a table that is merged into by key: what each way of doing so costs in Spark."""
