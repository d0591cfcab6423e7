"""The text that a terminal shows after some output."""

from __future__ import annotations

import re

_SEQUENCE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\r\n?|\n|[^\x1b\r\n]+")


def screen(written: str) -> list[str]:
    """The lines of a terminal that supports line breaks, carriage returns and 'erase to the end of the line'."""
    lines, column = [""], 0
    for part in _SEQUENCE.findall(written):
        if part in ("\n", "\r\n"):
            lines.append("")
            column = 0
        elif part == "\r":
            column = 0
        elif part == "\x1b[K":
            lines[-1] = lines[-1][:column]
        elif not part.startswith("\x1b"):
            lines[-1] = lines[-1][:column].ljust(column) + part + lines[-1][column + len(part) :]
            column += len(part)
    return lines
