"""The caller of the engine, because the fix of an error differs between dbt, a PySpark job and the command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum


class Caller(Enum):
    """The callers of the engine."""

    DBT = "dbt"
    JOB = "iceberg_incremental.Job"
    COMMAND = "iceberg-incremental"


_CALLER: ContextVar[Caller] = ContextVar("caller", default=Caller.DBT)


@contextmanager
def called_by(caller: Caller) -> Iterator[None]:
    """Write the errors that this thread creates in this block for the users of a caller."""
    token = _CALLER.set(caller)
    try:
        yield
    finally:
        _CALLER.reset(token)


def by_caller(dbt: str, job: str, command: str) -> str:
    """The text for the current caller: dbt, a ``Job`` or the command."""
    return {Caller.DBT: dbt, Caller.JOB: job, Caller.COMMAND: command}[_CALLER.get()]


def is_dbt() -> bool:
    """Whether dbt is the caller, so that its operations are available."""
    return _CALLER.get() is Caller.DBT


def setting(name: str, value: str) -> str:
    """A config in the syntax of the caller: ``name: value``, an argument of ``Job``, or a command-line option."""
    return by_caller(f"{name}: {value}", f'{name}="{value}"', f"--{name.replace('_', '-')} {value}")
