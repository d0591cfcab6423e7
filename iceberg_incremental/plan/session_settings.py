"""Settings of the Spark session that change the meaning of SQL: those that a run sets, and those that it refuses.

``tests/session_settings.py`` lists the settings under which the statements of this package are tested. A session is
checked after hooks and ``sql_header`` have run, before the run writes anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..table.checkpoint import KEY, PARTIAL_BUILD_KEY
from ..table.commits import PART_KEY
from .policy import Strategy

SUMMARY_SETTING = "spark.sql.iceberg.snapshot-property."
_OVERWRITE_SETTING = "spark.sql.sources.partitionOverwriteMode"


def needed_by(strategy: str) -> Mapping[str, str]:
    """The settings that a strategy's statement needs, also if dbt or the project provides the statement."""
    return {_OVERWRITE_SETTING: "dynamic"} if strategy == Strategy.INSERT_OVERWRITE.value else {}


@dataclass(frozen=True)
class Refused:
    """A setting with which a run does not start. ``values``: the refused values in lower case; empty for all values.

    ``needed``: the expected value. ``everywhere``: whether the setting also harms models of other materializations.
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
        "otherwise a backslash does not escape a character in a string literal, and text with quotes or backslashes "
        "would be misread",
        everywhere=True,
    ),
    Refused(
        "spark.sql.parser.quotedRegexColumnNames",
        ("true",),
        "false",
        "otherwise a back-quoted name in a SELECT is a pattern, which may match other columns too",
        everywhere=True,
    ),
    Refused(
        "spark.sql.storeAssignmentPolicy",
        ("legacy",),
        "ANSI or STRICT",
        "values that do not fit their column would be stored as different values; for Iceberg tables, Spark also "
        "refuses this setting",
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
        "a rebuild would write its rows to that branch, and leave the table empty",
    ),
    *(
        Refused(SUMMARY_SETTING + key, (), "no value", "every commit of the session would contain a run's checkpoint")
        for key in (KEY, PARTIAL_BUILD_KEY, PART_KEY)
    ),
)


def refused_in(settings: Mapping[str, str], *, everywhere: bool = False) -> list[tuple[Refused, str]]:
    """The refused settings of a session, with their values.

    ``everywhere``: only those that also harm models of other materializations.
    """
    return [
        (each, settings[each.key])
        for each in REFUSED
        if each.key in settings
        and (not each.values or settings[each.key].lower() in each.values)
        and (each.everywhere or not everywhere)
    ]
