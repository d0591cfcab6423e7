"""The status of a project's models: what their next runs would read, and what earlier runs have read."""
