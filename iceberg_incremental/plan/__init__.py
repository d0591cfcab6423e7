"""What a model would read of a source, or why it cannot; pure."""
