"""How much the JVM should compile, by what the last Spark on the same lakehouse computed.

The second compiler (C2) pays only for long computations. In a run of small models, it and the profiles that the first
compiler (C1) collects for it take a fourth of the CPU and a sixth of the time. Without it, nine million rows take a
fifth longer, and a computation of minutes takes up to twice as long. Nobody knows before a run what it computes, but a
project computes about the same each day.
"""

from __future__ import annotations

import atexit
import threading
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext

LONG_S = 20
"""The time in seconds of all tasks together from which on computations count as long."""
_WAIT_S = 2
"""The longest wait in seconds for a Spark that does not answer when the process ends."""


class Workload(Enum):
    """What a Spark is started for."""

    SHORT = "short"
    LONG = "long"


def expected(file: Path | None) -> Workload:
    """What a Spark computes if it computes as much as the last one. ``file``: where ``note_at_exit`` notes that.

    Short without a note, and long without a file.
    """
    if file is None:
        return Workload.LONG
    try:
        seconds = float(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Workload.SHORT
    return Workload.LONG if seconds > LONG_S else Workload.SHORT


def note_at_exit(file: Path, context: SparkContext) -> None:
    """Write the time of all tasks of a Spark to a file when this process ends. A Spark that has ended is not noted."""

    def note() -> None:
        with suppress(Exception):  # the next Spark is then started as this one was
            executors = context._jsc.sc().statusStore().executorList(False)
            milliseconds = sum(executors.apply(number).totalDuration() for number in range(executors.size()))
            file.write_text(f"{milliseconds / 1000:.1f}\n", encoding="utf-8")

    def note_or_leave() -> None:
        noting = threading.Thread(target=note, name="note", daemon=True)
        noting.start()
        noting.join(_WAIT_S)

    atexit.register(note_or_leave)
