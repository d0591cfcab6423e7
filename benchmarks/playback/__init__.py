"""Daily runs of a pipeline over playback events, some late: what each way of processing them costs in Spark."""
