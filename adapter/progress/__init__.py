"""The progress line: the running Spark statements, in one line of the terminal that is redrawn."""

from __future__ import annotations

from .display import Display
from .work import WatchedWork, Work

__all__ = ["Display", "WatchedWork", "Work"]
