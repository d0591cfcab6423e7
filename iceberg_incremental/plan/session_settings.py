"""Settings of the Spark session that change what SQL means: which hold, which a run sets itself, and which it refuses.

The statements of this package were tried under each (``test_settings.py``). Nothing is generated from this table; a
session is checked against it after hooks and ``sql_header`` have run, before a statement of ours writes anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..table.checkpoint import KEY, PARTIAL_BUILD_KEY
from ..table.commits import PART_KEY
from .policy import Strategy

SUMMARY_SETTING = "spark.sql.iceberg.snapshot-property."
_OVERWRITE_SETTING = "spark.sql.sources.partitionOverwriteMode"

HOLDS: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.crossJoin.enabled": "false",
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.iceberg.aggregate-push-down.enabled": "false",
    "spark.sql.iceberg.check-nullability": "false",
    "spark.sql.iceberg.check-ordering": "false",
    "spark.sql.iceberg.data-planning-mode": "distributed",
    "spark.sql.iceberg.delete-planning-mode": "distributed",
    "spark.sql.iceberg.distribution-mode": "none",
    "spark.sql.iceberg.executor-cache.enabled": "false",
    "spark.sql.iceberg.identifier-fields-rely": "true",
    "spark.sql.iceberg.merge-schema": "true",
    "spark.sql.iceberg.planning.preserve-data-grouping": "true",
    "spark.sql.iceberg.report-column-stats": "false",
    "spark.sql.iceberg.shred-variants": "true",
    "spark.sql.iceberg.vectorization.enabled": "false",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.orderByOrdinal": "false",
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.storeAssignmentPolicy": "STRICT",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.variable.substitute": "false",
}
"""Settings that change no result, with the value that was tried; so do all booleans of ``spark.sql.legacy``."""

HOLDS_UNDER_ANSI: Mapping[str, str] = {
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.ansi.enforceReservedKeywords": "true",
    "spark.sql.ansi.relationPrecedence": "true",
}
"""The same of settings that say nothing unless ``spark.sql.ansi.enabled`` is true."""

SET: Mapping[str, str] = {
    _OVERWRITE_SETTING: "dynamic for the statement of insert_overwrite",
    SUMMARY_SETTING + PART_KEY: "the epoch, for a statement that another one of the run follows",
    SUMMARY_SETTING + KEY: "the checkpoint, for the statement that carries it",
}
"""What a run sets itself for its own statements, and sets back, also after an error."""


def needed_by(strategy: str) -> Mapping[str, str]:
    """The settings that the statement of a strategy needs, also of one that is dbt's or a project's own."""
    return {_OVERWRITE_SETTING: "dynamic"} if strategy == Strategy.INSERT_OVERWRITE.value else {}


@dataclass(frozen=True)
class Refused:
    """A setting under which a run does not start. ``values``: those that are refused, in lower case; empty for any.

    ``needed``: what is expected instead. ``everywhere``: whether it also harms what is no incremental processing.
    """

    key: str
    values: tuple[str, ...]
    needed: str
    reason: str
    everywhere: bool = False


REFUSED = (
    Refused(
        "spark.sql.parser.escapedStringLiterals",
        ("true",),
        "false",
        "a backslash in a string literal is then a character like others, and text with quotes or backslashes is read "
        "as another text than was written",
        everywhere=True,
    ),
    Refused(
        "spark.sql.parser.quotedRegexColumnNames",
        ("true",),
        "false",
        "a back-quoted name in a SELECT is then a pattern, which may stand for other columns too",
        everywhere=True,
    ),
    Refused(
        "spark.sql.storeAssignmentPolicy",
        ("legacy",),
        "ANSI or STRICT",
        "values that do not fit into their column would be stored as others; Spark refuses it too, for Iceberg tables",
    ),
    Refused(
        "spark.wap.id",
        (),
        "no value",
        "every commit would be staged under that id instead of being published, and a rebuild would leave the table "
        "empty",
    ),
    Refused(
        "spark.wap.branch",
        (),
        "no value",
        "the rows of a rebuild would go to that branch, and leave the table empty",
    ),
    *(
        Refused(SUMMARY_SETTING + key, (), "no value", "every commit of the session would carry a checkpoint of a run")
        for key in (KEY, PARTIAL_BUILD_KEY, PART_KEY)
    ),
)


def refused_in(settings: Mapping[str, str], *, everywhere: bool = False) -> list[tuple[Refused, str]]:
    """The refused settings that a session has, with the values found.

    ``everywhere``: only those that also harm what is no incremental processing.
    """
    return [
        (each, settings[each.key])
        for each in REFUSED
        if each.key in settings
        and (not each.values or settings[each.key].lower() in each.values)
        and (each.everywhere or not everywhere)
    ]
