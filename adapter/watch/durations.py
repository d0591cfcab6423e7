"""Durations in command-line options, in seconds."""

from __future__ import annotations

import re

import click

from iceberg_incremental.durations import EXAMPLES, duration


class Seconds(click.ParamType):  # type: ignore[type-arg]
    """A duration, or a number of seconds. 0 is valid if ``may_be_zero``."""

    name = "duration"

    def __init__(self, *, may_be_zero: bool = False) -> None:
        self._may_be_zero = may_be_zero

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Convert a value to seconds. Raises click.BadParameter for an invalid one."""
        text = str(value).strip()
        found = duration(f"{text}s" if re.fullmatch(r"\d+(\.\d+)?", text) else text)
        if found is None or not (found or self._may_be_zero):
            above = "" if self._may_be_zero else " above 0"
            self.fail(f"{text!r}: expected a duration{above}, {EXAMPLES}, or a number of seconds.", param, ctx)
        return found.total_seconds()
