"""To whom errors speak: what to do is another thing in dbt, in a job of PySpark, and for the command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum


class Caller(Enum):
    """What called the engine."""

    DBT = "dbt"
    JOB = "iceberg_incremental.Job"
    COMMAND = "iceberg-incremental"


_CALLER: ContextVar[Caller] = ContextVar("caller", default=Caller.DBT)


@contextmanager
def called_by(caller: Caller) -> Iterator[None]:
    """Have the errors that are made inside, in this thread, speak to the user of this caller."""
    token = _CALLER.set(caller)
    try:
        yield
    finally:
        _CALLER.reset(token)


def by_caller(dbt: str, job: str, command: str) -> str:
    """One of three texts: for a dbt model, for a ``Job``, or for the command, whichever is running."""
    return {Caller.DBT: dbt, Caller.JOB: job, Caller.COMMAND: command}[_CALLER.get()]


def is_dbt() -> bool:
    """Whether dbt calls, so that its operations can be called."""
    return _CALLER.get() is Caller.DBT


def setting(name: str, value: str) -> str:
    """A config as it is set: ``on_source_rewrite: ignore``, an argument of ``Job`` or an option of the command."""
    return by_caller(f"{name}: {value}", f'{name}="{value}"', f"--{name.replace('_', '-')} {value}")
