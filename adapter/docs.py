"""What DESCRIBE says of a relation, as values, and as the catalog that `dbt docs generate` writes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.relation import BaseRelation
from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, StatsItem, TableMetadata

if TYPE_CHECKING:
    import agate

# Statistics by id: label, value, description.
Stats = Mapping[str, tuple[str, Any, str]]
Row = dict[str, Any]

_CUT_OFF = re.compile(r"\.\.\. \d+ more fields")
_STAT_LABELS = {
    "bytes": ("Approximate Size", "Bytes of the data files"),
    "rows": ("Row Count", "Rows as the metadata counts them"),
}


@dataclass(frozen=True)
class DescribedColumn:
    """A column's name, Spark SQL type and comment."""

    name: str
    type: str
    comment: str | None

    @property
    def is_cut_off(self) -> bool:
        """Whether the type is shown in part, as Spark shows structs of more than 25 fields."""
        return _CUT_OFF.search(self.type) is not None


@dataclass(frozen=True)
class Description:
    """A relation as DESCRIBE TABLE EXTENDED shows it; no columns where it does not exist."""

    columns: tuple[DescribedColumn, ...]
    details: Mapping[str, str]

    @property
    def provider(self) -> str | None:
        """The table format, such as ``iceberg``."""
        return self.details.get("Provider", "").lower() or None

    @property
    def stats(self) -> Stats:
        """Size in bytes and number of rows, where Spark knows them."""
        parts = (part.partition(" ") for part in self.details.get("Statistics", "").split(", "))
        found = {unit: number for number, _, unit in parts}
        return {
            key: (label, int(found[key]), text)
            for key, (label, text) in _STAT_LABELS.items()
            if found.get(key, "").isdigit()
        }


def describe(rows: Sequence[Sequence[Any]]) -> Description:
    """Parse the rows of DESCRIBE TABLE [EXTENDED]: columns first, then sections under titles that start with ``#``."""
    columns: list[DescribedColumn] = []
    details: dict[str, str] = {}
    section: str | None = None
    for name, value, comment in ((str(r[0] or ""), str(r[1] or ""), r[2]) for r in rows):
        if not name or (name.startswith("# ") and not value):
            section = name or section or ""
        elif section is None:
            columns.append(DescribedColumn(name, value, comment or None))
        elif section.startswith("# Detailed"):
            details[name] = value
    return Description(tuple(columns), details)


def rows(relation: BaseRelation, described: Description, stats: Stats) -> list[Row]:
    """The catalog's rows of a relation, one a column, with the statistics in each."""
    table: Row = {
        "table_database": relation.database,
        "table_schema": relation.schema,
        "table_name": relation.identifier,
        "table_type": str(relation.type),
        "table_comment": described.details.get("Comment") or None,
        "table_owner": described.details.get("Owner") or None,
    }
    for key, (label, value, text) in {**described.stats, **stats}.items():
        table |= {
            f"stats:{key}:label": label,
            f"stats:{key}:value": value,
            f"stats:{key}:description": text,
            f"stats:{key}:include": True,
        }
    return [
        {**table, "column_name": c.name, "column_index": i, "column_type": c.type, "column_comment": c.comment}
        for i, c in enumerate(described.columns, start=1)
    ]


def table(relations: Iterable[list[Row]]) -> agate.Table:
    """The catalog's rows as one table: a statistic that a relation lacks is null there, which dbt leaves out."""
    import agate

    all_rows = [row for relation in relations for row in relation]
    names = list(dict.fromkeys(name for row in all_rows for name in row))
    return agate.Table(
        [[row.get(name) for name in names] for row in all_rows],
        names,
        [_agate_type([row.get(name) for row in all_rows]) for name in names],
    )


def _agate_type(values: Iterable[Any]) -> agate.DataType:
    import agate

    known = [value for value in values if value is not None]
    if known and all(isinstance(value, bool) for value in known):
        return agate.Boolean()
    if known and all(isinstance(value, (int, float)) for value in known):
        return agate.Number()
    # A column may well be named null.
    return agate.Text(null_values=())


def catalog_table(relation: BaseRelation, described: Description, stats: Stats) -> CatalogTable:
    """The catalog's entry of one relation."""
    return CatalogTable(
        metadata=TableMetadata(
            type=str(relation.type),
            schema=str(relation.schema),
            name=str(relation.identifier),
            database=relation.database,
            comment=described.details.get("Comment") or None,
            owner=described.details.get("Owner") or None,
        ),
        columns={
            c.name: ColumnMetadata(type=c.type, index=i, name=c.name, comment=c.comment)
            for i, c in enumerate(described.columns, start=1)
        },
        stats={
            key: StatsItem(id=key, label=label, value=value, description=text, include=True)
            for key, (label, value, text) in {**described.stats, **stats}.items()
        },
    )
