"""Whether Spark interprets a query as this package does, and the settings that affect its result."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from importlib.metadata import version

from ..explain import plain_sql_errors
from ..query import plans
from ..query.incremental_query import IncrementalQuery
from ..spark.port import TIME_ZONE, Spark, under

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
LEGACY = "spark.sql.legacy."
"""The prefix of settings that restore the behavior of older versions. Many of them affect a query's result."""
_HIDES, _HIDES_BY_DEFAULT = "spark.sql.redaction.string.regex", "spark.redaction.string.regex"
"""The settings with which Spark hides parts of plans. The second one is the default of the first one."""
_HIDDEN = "*********(redacted)"
"""The text that replaces a hidden part."""
_NO_TEXT = "(?!)"
"""A regex that matches no text."""


def value_settings(spark: Spark, *others: str) -> Mapping[str, str]:
    """The current settings that may affect a query's result, and others. A server returns only those that are set."""
    return spark.settings((*RECORDED, *others), prefix=LEGACY)


def reading_digest(spark: Spark, kept: IncrementalQuery) -> str:
    """The digest of a query's interpretation and of the settings that may affect its result.

    If it changes, all rows of the table are replaced.
    """
    settings = sorted(f"{key}={value}" for key, value in value_settings(spark).items())
    parts = [kept.reading.qualified, version("sqlglot"), *settings]
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
    with under(spark, _showing(spark)):
        texts = (
            plans.numbered(kept.reading.text, kept.columns),
            plans.numbered(kept.reading.qualified, kept.reading.tree.named_selects),
        )
        return [str(spark.rows(plans.explain_sql(each))[0][0]) for each in texts]


def _showing(spark: Spark) -> Mapping[str, str]:
    """The settings under which EXPLAIN shows complete plans, if possible without hidden parts."""
    hiding = spark.settings((_HIDES, _HIDES_BY_DEFAULT))
    can_show = hiding and hiding.get(_HIDES) != _HIDDEN  # a hidden regex could not be restored
    return {**plans.SETTINGS, **({_HIDES: _NO_TEXT} if can_show else {})}


def _are_alike(spark: Spark, explained: Sequence[str]) -> bool:
    if any(_HIDDEN in each for each in explained):
        return False
    cased = spark.settings((_CASE_SENSITIVE,)).get(_CASE_SENSITIVE, "").lower() == "true"
    shown = [plans.canonical(each, case_sensitive=cased) for each in explained]
    return shown[0] is not None and shown[0] == shown[1]
