"""Whether Spark interprets a query as this package does, and the versions and settings that affect its result."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from importlib.metadata import version

from ..explain import plain_sql_errors
from ..query import plans
from ..query.incremental_query import IncrementalQuery
from ..spark.port import TIME_ZONE, Spark, under

_CASE_SENSITIVE = "spark.sql.caseSensitive"
_SETTINGS = (
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
"""The settings that affect a query's result, except those that a run refuses."""
_LEGACY = "spark.sql.legacy."
"""The prefix of settings that restore the behavior of older versions. Many of them affect a query's result."""


def value_settings(spark: Spark, *others: str) -> Mapping[str, str]:
    """The current settings that may affect a query's result, and others. A server returns only those that are set."""
    return spark.settings((*_SETTINGS, *others), prefix=_LEGACY)


def reading_digest(spark: Spark, kept: IncrementalQuery) -> str:
    """The digest of a query's interpretation, and of the version and settings of Spark, which may affect its result.

    If it changes, all rows of the table are replaced. A function may return other values in another minor version.
    """
    settings = sorted(f"{key}={value}" for key, value in value_settings(spark).items())
    minor = ".".join(spark.version.split(".")[:2])
    parts = [kept.reading.qualified, version("sqlglot"), minor, *settings]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def require_read_alike(spark: Spark, kept: IncrementalQuery, model: str) -> None:
    """Raise NotIncrementalError unless Spark interprets a model's query as this package does, at any time."""
    explained = _explained(spark, kept)
    moment = plans.moment(explained[0])
    if moment is not None:
        construct = f"'{moment}', which Spark interprets as the time of the run"
        raise plain_sql_errors.not_incremental(model, construct, "compare with a value from a source")
    if not _are_alike(spark, explained):
        raise plain_sql_errors.read_differently(model, map(str, kept.reading.tables.values()))


def is_read_alike(spark: Spark, kept: IncrementalQuery) -> bool:
    """Whether Spark interprets a query as this package does, at any time."""
    explained = _explained(spark, kept)
    return plans.moment(explained[0]) is None and _are_alike(spark, explained)


def _explained(spark: Spark, kept: IncrementalQuery) -> list[str]:
    """The output of EXPLAIN for a query, and for this package's interpretation of it."""
    with under(spark, plans.SETTINGS):
        texts = (
            plans.numbered(kept.reading.text, kept.columns),
            plans.numbered(kept.reading.qualified, kept.reading.tree.named_selects),
        )
        return [str(spark.rows(plans.explain_sql(each))[0][0]) for each in texts]


def _are_alike(spark: Spark, explained: Sequence[str]) -> bool:
    cased = spark.settings((_CASE_SENSITIVE,)).get(_CASE_SENSITIVE, "").lower() == "true"
    shown = [plans.canonical(each, case_sensitive=cased) for each in explained]
    return shown[0] is not None and shown[0] == shown[1]
