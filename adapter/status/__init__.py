"""The status of a project's models: the rows that their next runs would read, and the rows that earlier runs read."""
