"""A simulated connection to Spark, whose statements the test executes."""

from __future__ import annotations

from contextlib import nullcontext


class Connection:
    """A connection that passes each statement to ``execute``. Without ``configure``, settings become statements."""

    scans = None
    commits = None
    computes_once = False
    version = "4.1.2"

    def __init__(self, execute=lambda sql: None, configure=None):
        self.send = execute
        self._configure = configure

    def rows(self, sql):
        return self.send(sql) or []

    def settings(self, keys, *, prefixes=()):
        return {}

    def refresh(self, table):
        return None

    def configure(self, key, value):
        if self._configure is not None:
            self._configure(key, value)
        else:
            self.send(f"RESET `{key}`" if value is None else f"SET `{key}` = `{value}`")

    def hold(self, view, sql):
        return nullcontext()

    def release_view(self, view):
        return None
