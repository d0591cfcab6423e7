"""Verifies that a model's table equals the result of its SQL at the source snapshots of its checkpoint."""
