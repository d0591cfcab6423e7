"""The errors of models with the strategy ``auto``, which are incremental from plain SQL."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import ConfigError, NotIncrementalError


def not_incremental(model: str, construct: str, instead: str) -> NotIncrementalError:
    """Plain SQL has a construct whose result may differ although no source has changed."""
    advice = f"{instead}; or set " if instead else "set "
    return NotIncrementalError(
        f"{model} cannot be updated incrementally.",
        expected="with incremental_strategy 'auto', SQL whose result is a function of its sources.",
        found=f"{construct}.",
        fix=f"{advice}on_not_incremental to 'full_refresh', which rebuilds the table when a source has changed.",
    ).named("not-incremental")


def reads_changes_itself(model: str, macro: str) -> ConfigError:
    """A model with the strategy ``auto`` calls ``is_incremental()`` or an ``ip_`` macro."""
    plain = "write {{ ref('…') }} instead of {{ " + f"{macro}(ref('…')) " + "}}"
    if macro == "is_incremental":
        plain = "remove the conditions with is_incremental()"
    return ConfigError(
        f"{model} calls {macro}(), which incremental_strategy 'auto' does not support.",
        expected="plain SQL over ref() and source(), without is_incremental() and macros that start with ip_.",
        found=f"a call of {macro}().",
        fix=f"{plain}, or set incremental_strategy to 'append', 'merge', 'insert_overwrite' or 'apply_changes', which "
        "support the macros.",
    ).named("reads-changes-itself")


def auto_in_python(model: str) -> ConfigError:
    """A Python model has the strategy ``auto``."""
    return ConfigError(
        f"{model} is a Python model, which incremental_strategy 'auto' does not support.",
        expected="a SQL model, for which the rows affected by a change are known.",
        found="language: python.",
        fix="write the model in SQL, or set another incremental_strategy and read the changes with methods of dbt, "
        "for example dbt.ip_changes(…).",
    ).named("auto-in-python")


def reads_own_table(model: str) -> ConfigError:
    """Plain SQL reads the table that it describes."""
    return ConfigError(
        f"{model} reads its own table, which incremental_strategy 'auto' does not support.",
        expected="SQL whose result depends on other tables alone.",
        found="the model's own table, as {{ this }}, as a source, or through a view.",
        fix="remove it from the SQL, or set incremental_strategy to 'append', 'merge', 'insert_overwrite' or "
        "'apply_changes', which may read it.",
    ).named("reads-own-table")


def unknown_time_zone(zone: str) -> ConfigError:
    """Python does not know the time zone of the session."""
    return ConfigError(
        "The SQL reads the clock in a time zone that Python does not know.",
        expected="a time zone such as Europe/Berlin or +01:00 in spark.sql.session.timeZone.",
        found=f"{zone}.",
        fix="set spark.sql.session.timeZone to a name such as Europe/Berlin, or install the package tzdata.",
    ).named("unknown-time-zone")


def reads_others(model: str, known: Iterable[str]) -> NotIncrementalError:
    """Spark reads other relations for a model's SQL than this package has found in its text."""
    return NotIncrementalError(
        f"{model} cannot be updated incrementally.",
        expected=f"SQL that reads only these relations: {', '.join(known) or 'none'}.",
        found="Spark's plan reads others, or cannot be examined.",
        fix="write ref() or source() for each relation that the SQL reads, and give CTEs names that differ from those "
        "of tables and views; or set on_not_incremental to 'full_refresh', which rebuilds the table when a source has "
        "changed.",
    ).named("reads-others")
