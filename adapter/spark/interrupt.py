"""The process of a command: Ctrl-C as an error that is also an error of dbt, and when Python collects garbage.

dbt shows a plain KeyboardInterrupt with a stack trace, and a dbt error in one line.
"""

from __future__ import annotations

import atexit
import gc
import signal
import sys
import threading
from functools import cache
from pathlib import Path
from types import FrameType

from dbt_common.exceptions import DbtRuntimeError


class InterruptError(DbtRuntimeError, KeyboardInterrupt):
    """The user pressed Ctrl-C. dbt cancels running statements, as after every KeyboardInterrupt."""


CANCELLED = "Cancelled, because the command was interrupted or failed fast."
"""The error message for a statement that a dbt thread would execute after a cancellation."""


def listen() -> None:
    """Let Ctrl-C raise InterruptError, unless the program that runs dbt handles Ctrl-C itself."""
    if _in_main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def stop_listening() -> None:
    """Restore Python's handling of Ctrl-C."""
    if _in_main_thread() and signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise InterruptError("Interrupted: the running Spark statements of this command were cancelled.")


_COMMANDS = ("dbt", "dbt-spark-iceberg")


@cache
def skip_last_collection() -> None:
    """Exclude all objects from the search when this process ends. Programs that call dbt are left as they are."""
    if Path(sys.argv[0]).stem in _COMMANDS:
        atexit.register(gc.freeze)


_BEFORE_FULL = 50
"""The number of partial collections before a full one. It limits what waits for it to about 350,000 objects."""


def collect_rarely() -> None:
    """Let Python run full garbage collections less often, in the process of a command of this adapter.

    A full collection takes a quarter of a second, because it visits all objects of modules. By default, one follows
    whenever the number of objects has grown by a quarter, which two of three small runs in one process do.
    """
    young, middle, full = gc.get_threshold()
    gc.set_threshold(young, middle, max(full, _BEFORE_FULL))
