"""What Spark is doing just now, on one line of the terminal that is written again and again."""

from __future__ import annotations

from .display import Display
from .work import WatchedWork, Work

__all__ = ["Display", "WatchedWork", "Work"]
