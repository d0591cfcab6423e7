"""Whether a model's table is what its SQL returns for the snapshots of its checkpoint."""
