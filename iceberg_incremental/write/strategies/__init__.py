"""The strategies of models that write captured rows, as the statements of a run."""
