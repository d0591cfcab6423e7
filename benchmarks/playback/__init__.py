"""Daily runs of a pipeline on playback events, some of them late: the cost of each processing method in Spark."""
