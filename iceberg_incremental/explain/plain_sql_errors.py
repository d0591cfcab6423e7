"""The errors of models with the strategy ``auto``, which are incremental from plain SQL."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import ConfigError, NotIncrementalError
from .entries import indexed


@indexed
def not_incremental(model: str, construct: str, instead: str) -> NotIncrementalError:
    """Plain SQL has a construct that cannot be updated incrementally."""
    advice = f"{instead}; or set " if instead else "set "
    return NotIncrementalError(
        f"{model} cannot be updated incrementally.\n"
        "  Expected: with incremental_strategy 'auto', SQL for which the rows affected by a change are known.\n"
        f"  Found: {construct}.\n"
        f"  To fix: {advice}on_not_incremental to 'full_refresh', which rebuilds the table when a source has changed."
    )


@indexed
def reads_changes_itself(model: str, macro: str) -> ConfigError:
    """A model with the strategy ``auto`` calls ``is_incremental()`` or an ``ip_`` macro."""
    plain = "write {{ ref('…') }} instead of {{ " + f"{macro}(ref('…')) " + "}}"
    if macro == "is_incremental":
        plain = "remove the conditions with is_incremental()"
    return ConfigError(
        f"{model} calls {macro}(), which incremental_strategy 'auto' does not support.\n"
        "  Expected: plain SQL over ref() and source(), without is_incremental() and macros that start with ip_.\n"
        f"  Found: a call of {macro}().\n"
        f"  To fix: {plain}, or set incremental_strategy to 'append', 'merge', 'insert_overwrite' or 'apply_changes', "
        "which support the macros."
    )


@indexed
def auto_in_python(model: str) -> ConfigError:
    """A Python model has the strategy ``auto``."""
    return ConfigError(
        f"{model} is a Python model, which incremental_strategy 'auto' does not support.\n"
        "  Expected: a SQL model, for which the rows affected by a change are known.\n"
        "  Found: language: python.\n"
        "  To fix: write the model in SQL, or set another incremental_strategy and read the changes with methods of "
        "dbt, for example dbt.ip_changes(…)."
    )


@indexed
def read_differently(model: str, columns: Iterable[str]) -> NotIncrementalError:
    """Spark and this package interpret a model's SQL differently."""
    listed = ", ".join(columns)
    return NotIncrementalError(
        f"{model} cannot be updated incrementally.\n"
        "  Expected: SQL that Spark and sqlglot, the parser of this package, interpret in the same way.\n"
        f"  Found: different plans of the query for {listed}.\n"
        "  To fix: qualify each column with the alias of its relation, add an alias to each computed column, and write "
        "explicit casts; or set on_not_incremental to 'full_refresh', which rebuilds the table when a source has "
        "changed."
    )
