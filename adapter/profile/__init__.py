"""The profile: its fields, the embedded lakehouse, and the jars and settings for Spark."""
