"""Ctrl-C: dbt shows a KeyboardInterrupt with its stack trace, but a dbt error in one line; our error is both."""

from __future__ import annotations

import signal
import threading
from types import FrameType

from dbt_common.exceptions import DbtRuntimeError


class InterruptError(DbtRuntimeError, KeyboardInterrupt):
    """The user pressed Ctrl-C; dbt cancels what is running, as after every KeyboardInterrupt."""


CANCELLED = "Cancelled, as the command was interrupted or failed fast."
"""The error of a statement that dbt's threads would send after a cancellation."""


def listen() -> None:
    """Have Ctrl-C raise our error, unless the program that runs dbt handles it itself."""
    if _in_main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def stop_listening() -> None:
    """Give Ctrl-C back to Python."""
    if _in_main_thread() and signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise InterruptError("Interrupted: the running Spark statements of this command were cancelled.")
