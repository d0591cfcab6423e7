"""Verifying that a model's table equals the result of its SQL at the snapshots of its checkpoint."""
