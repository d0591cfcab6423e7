"""Session settings that change the meaning of SQL. A model is exact under them, or refuses them by name."""

from __future__ import annotations

from dataclasses import dataclass

BATCH = 6
"""The number of histories that share a project, and so a profile with its settings."""


@dataclass(frozen=True)
class Settings:
    """Settings of a user. ``by_hook``: set in a pre-hook of every model, otherwise in the profile.

    ``has_twins``: whether some column names differ only in case. ``refused``: the error with which a model may
    fail instead, in most cases the name of the setting.
    """

    values: dict[str, str]
    by_hook: bool = False
    has_twins: bool = False
    refused: str | None = None

    @property
    def hooks(self) -> list[str]:
        """The statements of a pre-hook."""
        return [f"set {key} = {value}" for key, value in self.values.items()] if self.by_hook else []

    @property
    def of_profile(self) -> dict[str, str]:
        """The settings in the profile."""
        return {} if self.by_hook else self.values


_OVERWRITE = "spark.sql.sources.partitionOverwriteMode"
_ASSIGNMENT = "spark.sql.storeAssignmentPolicy"
_ESCAPED = "spark.sql.parser.escapedStringLiterals"
_BERLIN = {"spark.sql.session.timeZone": "Europe/Berlin"}
NONE = Settings({})

TABLE = (
    Settings({"spark.sql.ansi.enabled": "false", **_BERLIN}),
    Settings({"spark.sql.timestampType": "TIMESTAMP_NTZ", **_BERLIN}),
    NONE,
    Settings({"spark.sql.caseSensitive": "true"}, has_twins=True, refused="differ only in case"),
    Settings({_OVERWRITE: "STATIC", "spark.sql.legacy.timeParserPolicy": "LEGACY", _ASSIGNMENT: "STRICT"}),
    Settings({_ESCAPED: "true"}, refused=_ESCAPED),
    Settings({"spark.sql.ansi.doubleQuotedIdentifiers": "true", "spark.sql.ansi.enforceReservedKeywords": "true"}),
    Settings({"spark.sql.timestampType": "TIMESTAMP_NTZ", **_BERLIN}, by_hook=True),
    Settings({_OVERWRITE: "STATIC", "spark.sql.ansi.enabled": "false"}, by_hook=True),
    Settings({_ASSIGNMENT: "LEGACY"}, by_hook=True, refused=_ASSIGNMENT),
    Settings({"spark.sql.legacy.timeParserPolicy": "CORRECTED", "spark.sql.session.timeZone": "America/St_Johns"}),
    NONE,
    Settings({_ESCAPED: "true"}, by_hook=True, refused=_ESCAPED),
)


def settings_of(number: int) -> Settings:
    """The settings of a history. All histories of a batch share them, and they rotate."""
    return TABLE[number // BATCH % len(TABLE)]
