"""Durations as people write them on a command line: ``500ms``, ``2s``, ``1m30s``, ``1h``."""

from __future__ import annotations

import re

import click

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")


def parse(text: str) -> float | None:
    """The seconds of a duration; None for a text that is none. A number alone is in seconds."""
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    if not text or _PART.sub("", text):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))


def seconds(text: str) -> float:
    """An option's value in seconds. Raises click.BadParameter."""
    found = parse(text.strip())
    if found is None:
        raise click.BadParameter(f"{text!r} is no duration: expected one such as 500ms, 2s, 1m30s or 1h.")
    return found
