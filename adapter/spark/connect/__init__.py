"""The connection method ``connect``: a Spark Connect server, with Spark's thin client and without a JVM."""
