"""A new user's project of small models, whose runs are mostly the start of a process."""
