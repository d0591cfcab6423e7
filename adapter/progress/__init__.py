"""The progress line: the last line of the terminal, which shows the running Spark statements."""

from __future__ import annotations

from .display import Display
from .work import WatchedWork, Work

__all__ = ["Display", "WatchedWork", "Work"]
