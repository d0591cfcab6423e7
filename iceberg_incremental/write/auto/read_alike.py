"""Whether Spark interprets a query as this package does, and the versions and settings that affect its result."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from types import MappingProxyType

from ...errors import StatementError
from ...query.plan import IncrementalQuery
from ...query.text import plans
from ...query.text.clock import SOME_TIME
from ...query.text.parsing import mentions, replaced
from ...spark.port import TIME_ZONE, Spark, under
from ...sql import sql_name
from ...table.history import TableName

_CASE_SENSITIVE = "spark.sql.caseSensitive"
RECORDED = (
    "spark.sql.ansi.doubleQuotedIdentifiers",
    "spark.sql.ansi.enabled",
    "spark.sql.ansi.relationPrecedence",
    _CASE_SENSITIVE,
    "spark.sql.decimalOperations.allowPrecisionLoss",
    "spark.sql.groupByOrdinal",
    "spark.sql.icu.caseMappings.enabled",
    "spark.sql.jsonGenerator.ignoreNullFields",
    "spark.sql.mapKeyDedupPolicy",
    TIME_ZONE,
    "spark.sql.timestampType",
)
"""The settings that affect a query's result and are recorded, except those that a run refuses."""
PREFIXES = (
    "spark.sql.avro.",
    "spark.sql.chunkBase64String.",
    "spark.sql.columnNameOfCorruptRecord",
    "spark.sql.csv.",
    "spark.sql.function.",
    "spark.sql.json.",
    "spark.sql.legacy.",
    "spark.sql.mapZipWithUsesJavaCollections",
    "spark.sql.optimizer.decorrelate",
    "spark.sql.preserveCharVarcharTypeInfo",
    "spark.sql.variant.",
)
"""The names, or the starts of names, of rare settings of which some affect a query's result."""
_HIDES, _HIDES_BY_DEFAULT = "spark.sql.redaction.string.regex", "spark.redaction.string.regex"
"""The settings with which Spark hides parts of plans. The second one is the default of the first one."""
_HIDDEN = "*********(redacted)"
"""The text that replaces a hidden part."""
_PRESENT: Mapping[TableName, str] = MappingProxyType({})
_NO_TEXT = "(?!)"
"""A regex that matches no text."""


def value_settings(spark: Spark, *others: str) -> Mapping[str, str]:
    """The current settings that may affect a query's result, and others. A server returns only those that are set."""
    return spark.settings((*RECORDED, *others), prefixes=PREFIXES)


def reading_digest(spark: Spark, kept: IncrementalQuery) -> str:
    """The digest of a query's interpretation, and of the version and settings of Spark, which may affect its result.

    If it changes, all rows of the table are replaced. A function may return other values in another minor version.
    """
    settings = sorted(f"{key}={value}" for key, value in value_settings(spark).items())
    minor = ".".join(spark.version.split(".")[:2])
    parts = [kept.reading.qualified, version("sqlglot"), minor, *settings, *filter(None, [kept.reading.complete])]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def is_read_alike(spark: Spark, kept: IncrementalQuery, relations: Mapping[TableName, str] = _PRESENT) -> bool:
    """Whether Spark interprets a query as this package does.

    ``relations``: the relations of tables whose present columns have other names than those that the query reads. Of a
    query that is replaced as a whole, only the relations that it reads matter.
    """
    if not kept.reading.qualified:
        return reads_no_others(spark, kept)
    return _are_alike(spark, _explained(spark, kept, relations))


def reads_no_others(spark: Spark, kept: IncrementalQuery) -> bool:
    """Whether Spark reads no other relations for a query than those that this package has found in its text."""
    reading = kept.reading
    empty = {
        table: "(select " + ", ".join(f"cast(null as {t}) as {sql_name(c)}" for c, t in kept.types[name].items()) + ")"
        for name, table in reading.tables.items()
    }
    found = [each for each in mentions(reading.text, reading.catalog) if each.relation in empty]
    text = replaced(reading.text, found, [empty[each.relation] for each in found])
    return not plans.reads_relations(str(spark.rows(plans.explain_sql(SOME_TIME.sql(text)))[0][0]))


_Explained = Sequence[tuple[str, str]]
"""The outputs of EXPLAIN for a text, and for this package's interpretation of it."""


def _explained(spark: Spark, kept: IncrementalQuery, relations: Mapping[TableName, str]) -> _Explained:
    """The outputs of EXPLAIN for a query and for the values in its VALUES."""
    reading = kept.reading
    text, qualified = reading.on(relations)
    texts = [
        (plans.numbered(text, kept.columns), plans.numbered(qualified, reading.names)),
        *([reading.values] if any(reading.values) else []),
    ]

    def explain(sql: str) -> str:
        return str(spark.rows(plans.explain_sql(SOME_TIME.sql(sql)))[0][0]) if sql else ""

    def explain_own(sql: str) -> str:
        try:
            return explain(sql)
        except StatementError:  # SQL that Spark rejects has no plan, so it differs from the query's
            return ""

    with under(spark, _showing(spark)):
        return [(explain(text), explain_own(other)) for text, other in texts]


def _showing(spark: Spark) -> Mapping[str, str]:
    """The settings under which EXPLAIN shows complete plans, if possible without hidden parts."""
    hiding = spark.settings((_HIDES, _HIDES_BY_DEFAULT))
    can_show = hiding and hiding.get(_HIDES) != _HIDDEN  # a hidden regex could not be restored
    return {**plans.SETTINGS, **({_HIDES: _NO_TEXT} if can_show else {})}


def _are_alike(spark: Spark, explained: _Explained) -> bool:
    if any(_HIDDEN in text for pair in explained for text in pair):
        return False
    cased = spark.settings((_CASE_SENSITIVE,)).get(_CASE_SENSITIVE, "").lower() == "true"
    shown = [[plans.canonical(each, case_sensitive=cased) for each in pair] for pair in explained]
    return all(text is not None and text == other for text, other in shown)
