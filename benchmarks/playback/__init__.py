"""Daily runs of a pipeline over playback events that come late: what each way of processing them costs in Spark."""
