"""The output of the command as JSON objects, which list the files of a range if a reader can use them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ..capture.cuts import Cuts
from ..capture.next_run import NextRun, SourceRead
from ..capture.run_plan import Action, Read, RunPlan
from ..expose.relations import as_of_sql, changelog_sql, changes_sql, per_commit_sql
from ..metadata.pyiceberg_reader import PyIcebergReader
from ..plan.ranges import Appends, NetChanges, Nothing, Range, Whole
from ..plan.remaining_additions import only_adds
from ..table.commits import may_repeat_files, writes_new_files
from ..table.files import DataFile, TableColumn
from ..table.history import History, TableName
from ..table.intervals import has_partition_values
from .capturing import Request
from .job_catalogs import JobCatalogs
from .publishing import Committed
from .run_file import VERSION, CapturedRun

NAME_MAPPING = "schema.name-mapping.default"
"""The property with names by field id, as JSON, for files without field ids, such as those of add_files."""
_BASIC_PLANE = 0xFFFF


_SQL: Mapping[str, Callable[[Range], str]] = {
    "changes": changes_sql,
    "changelog": changelog_sql,
    "changelog_per_commit": per_commit_sql,
    "as_of": as_of_sql,
}


def of_capture(catalogs: JobCatalogs, request: Request, run: CapturedRun, plan: RunPlan, cuts: Cuts) -> dict[str, Any]:
    """The result of ``capture``: the run, with the rows to read. Raises MetadataAccessError as the reader does."""
    sources = [_source(catalogs, plan, cuts, table, read) for table, read in dict.fromkeys(request.sources)]
    return {**run.to_document(), "reason": plan.reason, "sources": sources}


def of_commit(run: CapturedRun, committed: Committed | None) -> dict[str, Any]:
    """The result of ``commit``."""
    if committed is None:
        return {"version": VERSION, "action": "nothing", "name": run.name, "target": str(run.target)}
    return {
        "version": VERSION,
        "action": "committed",
        "name": run.name,
        "target": str(run.target),
        "epoch": committed.checkpoint.epoch,
        "snapshot_id": committed.snapshot_id,
        "already_committed": committed.already,
    }


def of_abort(run: CapturedRun, *, dropped: bool) -> dict[str, Any]:
    """The result of ``abort``."""
    return {
        "version": VERSION,
        "action": "aborted",
        "name": run.name,
        "target": str(run.target),
        "branch_dropped": dropped,
    }


def of_status(found: NextRun) -> dict[str, Any]:
    """The result of ``status``: the plan of the next run."""
    plan, checkpoint = found.plan, found.plan.checkpoint
    return {
        "version": VERSION,
        "action": found.action,
        "name": plan.model,
        "target": str(plan.name),
        "reason": plan.reason,
        "epoch": plan.last_epoch,
        "checkpoint": None if checkpoint is None else json.loads(checkpoint.to_json()),
        "sources": [_next(table, read) for table, read in found.sources.items()],
    }


def _source(catalogs: JobCatalogs, plan: RunPlan, cuts: Cuts, table: TableName, read: str) -> dict[str, Any]:
    planned = plan.captures[Read(read), table].planned
    found: dict[str, Any] = {
        "table": str(table),
        "read": read,
        **_range(planned),
        "sql": f"select * from {_SQL[read](planned)}",
    }
    if plan.action in (Action.REBUILD, Action.APPLY):
        is_changelog = read.startswith("changelog")
        listed = Listed(None, omitted=Omitted.CHANGELOG) if is_changelog else files_of(catalogs.reader, cuts, planned)
        found |= {"columns": list(listed.columns), **_files(listed)}
    return found


def _files(listed: Listed) -> dict[str, Any]:
    if listed.files is None:
        return {"files": None, "files_omitted": None if listed.omitted is None else listed.omitted.value}
    files = [{"path": file.path, "records": file.records, "bytes": file.size} for file in listed.files]
    return {"files": files, "files_omitted": None}


def _range(planned: Range) -> dict[str, Any]:
    counts = planned.counts
    return {
        "kind": planned.kind.value,
        "has_rows": planned.brings_rows,
        "from_snapshot_id": None if planned.start is None else planned.start.snapshot_id,
        "to_snapshot_id": None if planned.end is None else planned.end.snapshot_id,
        "to_timestamp_ms": None if planned.end is None else planned.end.timestamp_ms,
        "snapshots": counts.snapshots,
        "data_files": counts.files,
        "records": counts.records,
        "bytes": counts.size,
        "at_most": counts.at_most,
        "waiting_snapshots": planned.waiting,
    }


def _next(table: TableName, read: SourceRead) -> dict[str, Any]:
    found = _range(read.found) if isinstance(read.found, Range) else {}
    return {"table": str(table), **found, "error": None if read.error is None else str(read.error)}


def readable_by_name(
    schemas: Mapping[int, Sequence[TableColumn]], columns: Sequence[TableColumn], name_mapping: str | None = None
) -> bool:
    """Whether each name in a file of any of a table's schemas refers to the same column as in ``columns``.

    ``schemas``: all schemas that the table has had, by id. Ids start at 0, so a gap means that a schema is unknown. A
    column that a file lacks is NULL in its rows, unless the column has a default. The case of names is ignored, as in
    engines that ignore it. ``name_mapping``: the table property ``NAME_MAPPING``.
    """
    by_id = {column.field_id: column for column in columns}
    by_name = {column.name.lower(): column for column in columns}
    if len(by_name) < len(columns) or schemas.keys() != set(range(len(schemas))):
        return False
    if any(column.default is not None for column in columns):
        return False
    names = dict(_names(columns))
    if not all(map(_is_written_as_it_is, names.values())) or not _maps_to_themselves(name_mapping, names):
        return False
    return all(
        _is_same(column, by_id.get(column.field_id)) and _is_same(column, by_name.get(column.name.lower()))
        for schema in schemas.values()
        for column in schema
    )


def _is_same(column: TableColumn, other: TableColumn | None) -> bool:
    """Whether the other column does not exist or is the same column."""
    return other is None or (column.field_id, column.name, column.type) == (other.field_id, other.name, other.type)


def _names(columns: Sequence[TableColumn]) -> Iterator[tuple[int, str]]:
    """The field ids and names of columns, including the fields of nested structs."""
    for column in columns:
        yield column.field_id, column.name
        yield from _nested(column.type)


def _nested(type_: Any) -> Iterator[tuple[int, str]]:
    if not isinstance(type_, Mapping):
        return
    for field in type_.get("fields", ()):
        yield field["id"], field["name"]
        yield from _nested(field["type"])
    for part in ("element", "key", "value"):
        yield from _nested(type_.get(part))


def _is_written_as_it_is(name: str) -> bool:
    """Whether Iceberg's writers keep a name in Parquet files. For example, "flight id" becomes "flight_x20id".

    They keep names that are valid in Avro, by Java's 16-bit letters and digits (AvroSchemaUtil.makeCompatibleName).
    """
    kept = all(ord(each) <= _BASIC_PLANE and (each.isalpha() or each.isdecimal() or each == "_") for each in name)
    return kept and not name[:1].isdecimal()


def _maps_to_themselves(name_mapping: str | None, names: Mapping[int, str]) -> bool:
    """Whether the mapping assigns each column exactly its own name."""
    if name_mapping is None:
        return True
    try:
        mapped = dict(_mapped(json.loads(name_mapping)))
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    return all(mapped.get(field_id, [name]) == [name] for field_id, name in names.items())


def _mapped(fields: Any) -> Iterator[tuple[int, Any]]:
    for field in fields:
        if "field-id" in field:
            yield field["field-id"], field["names"]
        yield from _mapped(field.get("fields") or ())


class Omitted(str, Enum):
    """The reason for listing no files."""

    CHANGELOG = "a changelog also has rows that were changed or deleted"
    CHANGED_ROWS = "the range changes or deletes rows, or has moved them to other files"
    DELETE_FILES = "delete files apply to data files of the range"
    UNLISTED = "the data files cannot be listed"
    NOT_PARQUET = "not all data files are Parquet"
    COLUMNS = (
        "files may have other columns: names or types have changed, have defaults, or are not plain letters and digits"
    )
    IMPORTED = "files may have been imported with other values in their partition columns, or without these columns"


@dataclass(frozen=True)
class Listed:
    """``files``: the files to read. If it is None, ``omitted`` is the reason. ``columns``: the column names to read."""

    files: tuple[DataFile, ...] | None
    columns: tuple[str, ...] = ()
    omitted: Omitted | None = None


def files_of(reader: PyIcebergReader, cuts: Cuts, planned: Range) -> Listed:
    """The files of a range. Raises MetadataAccessError if the metadata is unreachable."""
    if isinstance(planned, Nothing):
        return Listed(())
    assert isinstance(planned, Whole | Appends | NetChanges)
    changed = planned.net.changed if isinstance(planned, NetChanges) else cuts.files_of(planned)
    if changed is None or changed.files is None:
        return Listed(None, omitted=Omitted.UNLISTED)
    files, names = changed.files.at_end, tuple(column.name for column in changed.end)
    omitted = _omitted(reader, planned, files, changed.end)
    return Listed(files if omitted is None else None, names, omitted)


def _omitted(
    reader: PyIcebergReader,
    planned: Whole | Appends | NetChanges,
    files: Sequence[DataFile],
    columns: Sequence[TableColumn],
) -> Omitted | None:
    """The reason why the files do not contain exactly the rows of the range. None if they do."""
    if isinstance(planned, NetChanges) and not only_adds(planned.net.changed):
        return Omitted.CHANGED_ROWS
    history = reader.load(planned.table)
    if history is None or planned.end.snapshot_id not in history.snapshots:
        return Omitted.UNLISTED
    if _has_deletes(reader, planned, history):
        return Omitted.DELETE_FILES
    if not all(file.path.endswith(".parquet") for file in files):
        return Omitted.NOT_PARQUET
    if not readable_by_name(reader.schemas(planned.table), columns, history.properties.get(NAME_MAPPING)):
        return Omitted.COLUMNS
    types = {column.field_id: column.type for column in columns}
    if all(has_partition_values(file, types) for file in files) or _are_written(planned, history):
        return None
    return Omitted.IMPORTED


def _has_deletes(reader: PyIcebergReader, planned: Whole | Appends | NetChanges, history: History) -> bool:
    """Whether delete files may apply to the files. As in Iceberg's append scan, they do not apply to appends."""
    if isinstance(planned, Appends):
        return False
    if isinstance(planned, NetChanges):
        return not planned.net.changed.without_deletes
    end = planned.end.snapshot_id
    return not reader.changed_files(history, end, end).without_deletes


def _are_written(planned: Whole | Appends | NetChanges, history: History) -> bool:
    """Whether an engine is known to have written the files for this table, so that they were not imported."""
    if not isinstance(planned, Appends):
        return not may_repeat_files(history, planned.end.snapshot_id)
    commits = [history.snapshots.get(each) for each in planned.brought_by]
    return all(commit is not None and writes_new_files(commit) for commit in commits)
