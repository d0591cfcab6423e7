"""One cut of each source for an invocation, and one run of a model that captures ranges of them."""
