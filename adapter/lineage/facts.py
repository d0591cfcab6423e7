"""The content of events, without OpenLineage's classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from types import MappingProxyType

from iceberg_incremental.table.history import TableName
from iceberg_incremental.table.layout import DescribedColumn

_NONE: Mapping[str, str] = MappingProxyType({})


class State(str, Enum):
    """The states of a run in events."""

    START = "START"
    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    ABORT = "ABORT"


@dataclass(frozen=True)
class Statistics:
    """The numbers of rows, bytes and data files that a run read or added."""

    rows: int
    size: int
    files: int


@dataclass(frozen=True)
class Dataset:
    """An Iceberg table that a run read or wrote.

    ``location``: the location of its files. ``catalog``: Spark's settings of its catalog, without the prefix.
    ``version``: the id of the snapshot that was read or written; None if not known exactly. ``statistics``: the amounts
    that were read or added; None if unknown.
    """

    table: TableName
    location: str
    catalog: Mapping[str, str] = field(default_factory=lambda: _NONE)
    columns: tuple[DescribedColumn, ...] = ()
    version: int | None = None
    statistics: Statistics | None = None


@dataclass(frozen=True)
class Touched:
    """The tables that a node read, and the table that it builds.

    ``wrote``: whether the node has committed to that table. ``sql``: its compiled SQL; None for a seed and for Python.
    ``plain_sql``: the SQL with table names in place of the SQL that macros generated.
    """

    inputs: tuple[Dataset, ...] = ()
    output: Dataset | None = None
    wrote: bool = False
    sql: str | None = None
    plain_sql: str | None = None


@dataclass(frozen=True)
class Parent:
    """The run that started another run. ``root``: the outermost run; None if it is this one."""

    namespace: str
    job: str
    run_id: str
    root: Parent | None = None


@dataclass(frozen=True)
class Event:
    """One event. ``job_type``: ``JOB`` for dbt's invocation; ``MODEL``, ``SEED`` or ``SNAPSHOT`` for a node."""

    state: State
    time: datetime
    namespace: str
    job: str
    job_type: str
    run_id: str
    parent: Parent | None = None
    error: str | None = None
    touched: Touched = field(default_factory=Touched)
