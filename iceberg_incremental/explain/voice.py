"""To whom errors speak: what to do is another thing in dbt, in a job of PySpark, and for the command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum


class Voice(Enum):
    """What called the engine."""

    DBT = "dbt"
    JOB = "iceberg_incremental.Job"
    COMMAND = "iceberg-incremental"


_VOICE: ContextVar[Voice] = ContextVar("voice", default=Voice.DBT)


@contextmanager
def speaking(voice: Voice) -> Iterator[None]:
    """Have the errors that are made inside, in this thread, speak to the user of this caller."""
    token = _VOICE.set(voice)
    try:
        yield
    finally:
        _VOICE.reset(token)


def by_voice(dbt: str, job: str, command: str) -> str:
    """One of three texts: for a dbt model, for a ``Job``, or for the command, whichever is running."""
    return {Voice.DBT: dbt, Voice.JOB: job, Voice.COMMAND: command}[_VOICE.get()]


def is_dbt() -> bool:
    """Whether dbt calls, so that its operations can be called."""
    return _VOICE.get() is Voice.DBT


def setting(name: str, value: str) -> str:
    """A config as it is set: ``on_source_rewrite: ignore``, an argument of ``Job`` or an option of the command."""
    return by_voice(f"{name}: {value}", f'{name}="{value}"', f"--{name.replace('_', '-')} {value}")
