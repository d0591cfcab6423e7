"""What Spark is doing just now, on one line of the terminal that is written again and again.

work       how far a statement is, as a value; what a connection's handle has to say of it
text       the line that shows the statements that run
terminal   the line among dbt's log lines, and where there is one at all
display    the statements that run, and the thread that shows them
"""

from __future__ import annotations

from .display import Display
from .work import WatchedWork, Work

__all__ = ["Display", "WatchedWork", "Work"]
