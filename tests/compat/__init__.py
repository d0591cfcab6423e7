"""`make compat`: the tests on other versions, each in an environment of its own."""
