"""PyIceberg, which writes to the catalog of the embedded lakehouse, and reads a table from its metadata file."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable, Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DecimalType, LongType, NestedField, StringType

from .contract import (
    APPENDED,
    BASE,
    DELETED,
    HIGHEST,
    LAST,
    LOWEST,
    NEW_VALUE,
    OF_PARTITION,
    REPLACEMENT,
    SOURCE_COLUMNS,
    UPDATED,
    UPSERTED,
    Row,
    dictionaries,
    listed,
    serve,
)

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "part", StringType(), required=False),
    NestedField(3, "v", StringType(), required=False),
    NestedField(4, "amount", DecimalType(10, 2), required=False),
)
BY_PART = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "part"))


def arrow(rows: tuple[Row, ...]) -> pa.Table:
    """Rows with the types of the table."""
    types = (pa.int64(), pa.string(), pa.string(), pa.decimal128(10, 2))
    return pa.Table.from_pylist(dictionaries(rows), schema=pa.schema(zip(SOURCE_COLUMNS, types, strict=True)))


def loaded(catalog: dict[str, str], name: str) -> Table:
    """A table of the catalog whose properties are given."""
    return load_catalog("lakehouse", **catalog).load_table(name)


def create(catalog: dict[str, str], name: str, format_version: int, partitioned: bool) -> Table:
    """Create a table with the rows of BASE."""
    table = load_catalog("lakehouse", **catalog).create_table(
        name,
        SCHEMA,
        partition_spec=BY_PART if partitioned else PartitionSpec(),
        properties={"format-version": str(format_version)},
    )
    table.append(arrow(BASE))
    return table


def write(catalog: dict[str, str], name: str, step: str) -> None:
    """Commit one of the operations."""
    table = loaded(catalog, name)
    if step == "append":
        table.append(arrow(APPENDED))
    elif step == "last":
        table.append(arrow(LAST))
    elif step == "delete":
        table.delete(f"id = {DELETED}")
    elif step == "update":
        (old,) = (row for row in BASE if row[0] == UPDATED)
        table.overwrite(arrow(((*old[:2], NEW_VALUE, old[3]),)), f"id = {UPDATED}")
    elif step == "upsert":
        table.upsert(arrow(UPSERTED), join_cols=["id"])
    elif step == "overwrite":
        table.overwrite(arrow(REPLACEMENT))
    elif step == "overwrite_partitions":
        table.dynamic_partition_overwrite(arrow(OF_PARTITION))
    else:
        raise KeyError(step)


def read(metadata: str, snapshot: int | None, question: str) -> Any:
    """The rows of a table, those within the filter, or their number."""
    scan = StaticTable.from_metadata(metadata).scan(snapshot_id=snapshot)
    if question == "count":
        return scan.count()
    if question == "filter":
        scan = scan.filter(f"id >= {LOWEST} and id <= {HIGHEST}")
    return listed(scan.to_arrow().to_pylist())


def created(**arguments: Any) -> None:
    """Create a table, and answer nothing."""
    create(**arguments)


if __name__ == "__main__":
    serve({"create": created, "write": write, "read": read})
