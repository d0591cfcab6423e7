"""The CPU time of processes in user and kernel mode, as Linux reports it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_PROCESSES = Path("/proc")
_PARENT = 1
_TIMES = slice(11, 15)
"""The fields with the user and system times of the process, and of its children that have ended."""


def whole(process: int | None = None) -> float:
    """The CPU time in s of a process and all of its descendants so far, including those that have ended.

    By default, this is the current process, including the JVM of its Spark. 0 on systems without ``/proc``.
    """
    root = os.getpid() if process is None else process
    found = dict(_stats())
    below: dict[int, list[int]] = {}
    for number, fields in found.items():
        below.setdefault(int(fields[_PARENT]), []).append(number)
    ticks, waiting = 0, [root] if root in found else []
    while waiting:
        number = waiting.pop()
        ticks += sum(map(int, found[number][_TIMES]))
        waiting += below.get(number, ())
    return ticks / os.sysconf("SC_CLK_TCK")


def _stats() -> Iterator[tuple[int, list[str]]]:
    """The fields of each process that follow the command's name in ``/proc/<id>/stat``."""
    for folder in _PROCESSES.glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # the process has just ended
        yield int(folder.name), text.rpartition(")")[2].split()
