"""Ctrl-C: dbt shows the stack trace of a KeyboardInterrupt, and one line for an error of its own; ours is both."""

from __future__ import annotations

import signal
import threading
from types import FrameType

from dbt_common.exceptions import DbtRuntimeError


class InterruptError(DbtRuntimeError, KeyboardInterrupt):
    """The user has pressed Ctrl-C; dbt cancels what runs, as after every KeyboardInterrupt."""


def listen() -> None:
    """Have Ctrl-C raise our error, unless the program that runs dbt handles it in a way of its own."""
    if _in_main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def stop_listening() -> None:
    """Leave Ctrl-C to Python again."""
    if _in_main_thread() and signal.getsignal(signal.SIGINT) is _interrupt:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise InterruptError("Interrupted: what Spark was running for this command is cancelled.")
