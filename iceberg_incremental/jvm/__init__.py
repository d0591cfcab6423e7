"""Starts Spark's JVM for this process: finds Java and the jars, and uses a class data archive."""
