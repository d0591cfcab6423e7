"""Reads table metadata with Spark SQL, if PyIceberg has no access to the catalog or its files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..errors import IncrementalError, MetadataAccessError, StatementError
from ..explain import metadata_errors
from ..table.files import ChangedFiles, LiveFile, LiveFiles, ManifestSize, TableColumn, has_other_names
from ..table.history import MAIN, History, Retention, Snapshot, TableName
from ..table.layout import LiveSpec
from . import MetadataReader
from .describe import describe
from .manifest_files import FILE_PATH_ID, content_of
from .table_metadata import created_ms, folders_of

RunSql = Callable[[str], Sequence[Sequence[Any]]]

# Spark's error conditions, which are part of the message with every connection method.
_NOT_FOUND = ("[TABLE_OR_VIEW_NOT_FOUND]", "[SCHEMA_NOT_FOUND]")
# The properties that Iceberg's SHOW TBLPROPERTIES adds to the table's own properties.
_FORMAT, _FORMAT_VERSION, _CURRENT = "format", "format-version", "current-snapshot-id"
_DATA = 0
"""The content value of a manifest of data files."""
_REF = "name, snapshot_id, max_reference_age_in_ms, type, min_snapshots_to_keep, max_snapshot_age_in_ms"
_LOG_ENTRY = "file, latest_snapshot_id, latest_sequence_number, unix_millis(timestamp), latest_schema_id"
_FILE = (
    "content, file_format, file_path, spec_id, record_count, file_size_in_bytes, "
    f"if(lower_bounds[{FILE_PATH_ID}] = upper_bounds[{FILE_PATH_ID}], "
    f"decode(lower_bounds[{FILE_PATH_ID}], 'UTF-8'), referenced_data_file)"
)
_MANIFEST = (
    "path, partition_spec_id, length, content, added_data_files_count + existing_data_files_count + "
    "added_delete_files_count + existing_delete_files_count"
)
_SORT_ORDER = "sort-order"
_SORT_FIELD = re.compile(r"(?:[^,(]|\([^)]*\))+")
_ADDED = (_FORMAT, _FORMAT_VERSION, _CURRENT, _SORT_ORDER, "identifier-fields")


class SparkReader(MetadataReader):
    """A MetadataReader that uses Iceberg's metadata tables.

    Its histories lack the table's UUID, the properties that Spark reserves (such as ``owner``), and the sequence
    numbers of snapshots that were never the newest. It does not read older metadata files. It lists files only in
    ``live_files``.
    """

    def __init__(self, run_sql: RunSql) -> None:
        """``run_sql`` executes a statement on the calling thread's connection, and returns all rows."""
        self._run_sql = run_sql

    def load(self, table: TableName) -> History | None:
        """See MetadataReader.load."""
        shown = self._properties(table)
        if shown is None:
            return None
        if not shown.get(_FORMAT, "").startswith("iceberg/") or _CURRENT not in shown:
            provider = self._provider(table)
            raise metadata_errors.view(table) if provider is None else metadata_errors.other_format(table, provider)
        # Snapshots are read after the refs. A commit between the two statements then adds a snapshot that no ref needs,
        # and the snapshot of each ref is found.
        listed = self._select(table, "refs", _REF)
        refs = {name: int(head) for name, head, *_ in listed}
        log = self._select(table, "metadata_log_entries", _LOG_ENTRY)
        sequence_numbers = {int(head): int(number) for _, head, number, *_ in log if head is not None}
        rows = self._select(
            table, "snapshots", "snapshot_id, parent_id, unix_millis(committed_at), operation, to_json(summary)"
        )
        snapshots = {
            int(snapshot_id): Snapshot(
                snapshot_id=int(snapshot_id),
                parent_id=None if parent_id is None else int(parent_id),
                sequence_number=sequence_numbers.get(int(snapshot_id)),
                timestamp_ms=int(timestamp_ms),
                operation=operation,
                summary=json.loads(summary or "{}"),
            )
            for snapshot_id, parent_id, timestamp_ms, operation, summary in rows
        }
        current = refs.get("main")
        if current is not None and current not in snapshots:
            raise metadata_errors.changed_meanwhile(table, current)
        schemas = {int(head): schema for _, head, _, _, schema in log if head is not None}
        fields, snapshots = self._fields(table, snapshots, current, schemas, sum(row[1] == current for row in log) > 1)
        return History(
            table=table,
            table_uuid=None,
            format_version=int(shown[_FORMAT_VERSION]),
            current_snapshot_id=current,
            snapshots=snapshots,
            refs=refs,
            properties={key: value for key, value in shown.items() if key not in _ADDED},
            metadata_log=tuple(file for file, *_ in log[:-1]),  # the last entry is the current file
            ref_ages={name: int(age) for name, _, age, *_ in listed if age is not None},
            branches={MAIN: Retention()}
            | {name: Retention(least, age) for name, _, _, type_, least, age in listed if type_ == "BRANCH"},
            updated_ms=int(log[-1][3]) if log else None,
            created_ms=created_ms(str(log[0][0]), int(log[0][3])) if log else None,
            fields=fields,
            sorted_by=tuple(each.strip() for each in _SORT_FIELD.findall(shown.get(_SORT_ORDER, ""))),
        )

    def _fields(
        self,
        table: TableName,
        snapshots: Mapping[int, Snapshot],
        current: int | None,
        schemas: Mapping[int, Any],
        may_be_altered: bool,
    ) -> tuple[Mapping[str, int], dict[int, Snapshot]]:
        """The present columns with positions instead of field ids, and the snapshots with their columns.

        ``schemas``: the ids of the schemas of snapshots, if known. ``may_be_altered``: whether the table's metadata has
        changed since its current snapshot. A snapshot with another or an unknown schema is assumed to have other names.
        """
        fields: Mapping[str, int] = {}
        at_head, altered = fields, False
        if current is None:
            return fields, dict(snapshots)
        if may_be_altered:
            states = (f" version as of {current}", "")
            at_head, fields = (_positions(self._columns(f"{table.sql}{state}", table)) for state in states)
            altered = has_other_names(at_head, fields)
        found = {}
        for number, snapshot in snapshots.items():
            same = number == current or (schemas.get(number) is not None and schemas[number] == schemas.get(current))
            known = at_head if same else {}
            found[number] = replace(snapshot, fields=known, has_other_names=altered if same else True)
        return fields, found

    def locations(self, tables: Collection[TableName]) -> Mapping[TableName, str]:
        """See MetadataReader.locations. Executes one statement per table."""
        found: dict[TableName, str] = {}
        for table in tables:
            with suppress(IncrementalError):
                log = self._select(table, "metadata_log_entries", "file")
                found[table] = str(log[-1][0])  # the last entry is the current file
        return found

    def folders(self, table: TableName) -> Sequence[str]:
        """See MetadataReader.folders."""
        shown = self._properties(table)
        if shown is None:
            return ()
        details = describe(self._run(f"describe table extended {table.sql}", table)).details
        if "Location" not in details:
            raise metadata_errors.view(table)
        return folders_of(str(details["Location"]), shown)

    def changed_files(self, history: History, start: int, end: int) -> ChangedFiles:
        """See MetadataReader.changed_files. Returns columns with positions instead of field ids, and no files."""
        table = history.table
        rows = self._select(table, "metadata_log_entries", "latest_snapshot_id, latest_schema_id")
        schemas = {head: schema for head, schema in rows if head is not None}
        if start not in schemas or end not in schemas or schemas[start] != schemas[end]:
            raise metadata_errors.columns_unknown(table, start, end, (schemas.get(start), schemas.get(end)))
        # the table may have been altered since its last commit
        columns, present = (self._columns(f"{table.sql}{state}", table) for state in (f" version as of {end}", ""))
        renamed = frozenset(each.field_id for each in columns if each not in present)
        return ChangedFiles(columns, columns, renamed=renamed)

    def _columns(self, relation: str, table: TableName) -> tuple[TableColumn, ...]:
        """The columns of a relation of a table, with positions instead of field ids."""
        found = describe(self._run(f"describe query select * from {relation}", table)).columns
        return tuple(TableColumn(number, column.name, column.type) for number, column in enumerate(found, start=1))

    def live_specs(self, history: History, at: int) -> Sequence[LiveSpec]:
        """See MetadataReader.live_specs. Returns only the ids of the specs and the numbers of files."""
        live = "sum(added_data_files_count + existing_data_files_count)"
        rows = self._run(
            f"select partition_spec_id, {live} from {history.table.sql}.manifests version as of {at} "
            f"where content = {_DATA} group by partition_spec_id having {live} > 0 order by partition_spec_id",
            history.table,
        )
        return [LiveSpec(int(spec_id), int(files)) for spec_id, files in rows]

    def live_files(self, history: History) -> LiveFiles | None:
        """See MetadataReader.live_files. Assumes that the newest spec with files is the spec of new files."""
        table = history.table
        has_partitions = any(row[0] == "partition" for row in self._run(f"describe {table.sql}.files", table))
        partition = "to_json(partition)" if has_partitions else "''"
        rows = self._select(table, "files", f"{_FILE}, {partition}")
        files = tuple(
            LiveFile(content_of(int(content), form), path, int(spec_id), partition, int(records), int(size), of)
            for content, form, path, spec_id, records, size, of, partition in rows
        )
        return LiveFiles(
            files,
            {
                path: ManifestSize(int(spec_id), int(size), int(content) != _DATA)
                for path, spec_id, size, content, live in self._select(table, "manifests", _MANIFEST)
                if live
            },
            max((file.spec_id for file in files), default=0),
        )

    def _properties(self, table: TableName) -> dict[str, str] | None:
        try:
            rows = self._run(f"show tblproperties {table.sql}", table)
        except MetadataAccessError as error:
            if any(condition in str(error) for condition in _NOT_FOUND):
                return None
            raise
        return {row[0]: row[1] for row in rows}

    def _provider(self, table: TableName) -> str | None:
        """The format of a table. None for a view."""
        described = describe(self._run(f"describe table extended {table.sql}", table))
        return None if described.is_view else str(described.details.get("Provider") or "unknown")

    def _select(self, table: TableName, metadata_table: str, columns: str) -> Sequence[Sequence[Any]]:
        return self._run(f"select {columns} from {table.sql}.{metadata_table}", table)

    def _run(self, sql: str, table: TableName) -> Sequence[Sequence[Any]]:
        try:
            return self._run_sql(sql)
        except Exception as error:
            if isinstance(error, IncrementalError) and not isinstance(error, StatementError):
                raise
            raise metadata_errors.unreadable_by_spark(table, error) from error


def _positions(columns: Sequence[TableColumn]) -> dict[str, int]:
    """The positions of columns by name and type. A struct whose fields were renamed has another type."""
    return {f"{column.name} {column.type}": column.field_id for column in columns}
