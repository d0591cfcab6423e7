"""`make compat`, which runs the tests with other versions, each set of versions in its own environment."""
