"""The cut of each source in an invocation, and the runs of models that capture ranges up to these cuts."""
