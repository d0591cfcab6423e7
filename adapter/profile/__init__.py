"""The profile: its fields, the embedded lakehouse, and the settings and jars for Spark."""
