"""What a run would read from a source, or why it cannot read it. Pure functions."""
