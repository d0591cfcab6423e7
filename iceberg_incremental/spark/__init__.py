"""The engine's interface to Spark, which each type of connection implements."""
