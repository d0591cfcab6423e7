"""The connection method ``connect``: a Spark Connect server, by Spark's thin client, without a JVM in this process."""
