"""Measures the cost in Spark of each method that processes daily playback events, of which some arrive late."""
