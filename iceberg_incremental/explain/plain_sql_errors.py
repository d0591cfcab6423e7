"""The errors of plain SQL that is kept up to date."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import ConfigError, NotIncrementalError
from .entries import indexed


@indexed
def not_incremental(model: str, construct: str, instead: str) -> NotIncrementalError:
    """Plain SQL has a construct that cannot be kept up to date by what changed."""
    advice = f"{instead}; or set " if instead else "set "
    return NotIncrementalError(
        f"{model} cannot be kept up to date by what changed in its sources.\n"
        "  Expected: with incremental_strategy 'auto', SQL of which it is known which rows a change can affect.\n"
        f"  Found: {construct}.\n"
        f"  To fix: {advice}on_not_incremental to 'full_refresh', which rebuilds the table when a "
        "source has changed."
    )


@indexed
def reads_changes_itself(model: str, macro: str) -> ConfigError:
    """A model with the strategy ``auto`` calls a macro of incremental processing."""
    return ConfigError(
        f"{model} calls {macro}(), which incremental_strategy 'auto' does not take.\n"
        "  Expected: plain SQL over ref() and source(), without is_incremental() and macros that begin with ip_.\n"
        f"  Found: a call of {macro}().\n"
        "  To fix: write {{ ref('…') }} in place of {{ "
        f"{macro}(ref('…')) "
        "}}, or set incremental_strategy to 'append', 'merge', 'insert_overwrite' or 'apply_changes', which take the "
        "macros."
    )


@indexed
def auto_in_python(model: str) -> ConfigError:
    """A model in Python has the strategy ``auto``."""
    return ConfigError(
        f"{model} is a model in Python, which incremental_strategy 'auto' does not take.\n"
        "  Expected: a model in SQL, of which it can be read which rows a change affects.\n"
        "  Found: language: python.\n"
        "  To fix: write the model in SQL, or set another incremental_strategy and read the changes by the "
        "functions of dbt, for example dbt.ip_changes(…)."
    )


@indexed
def read_differently(model: str, columns: Iterable[str]) -> NotIncrementalError:
    """Spark and this package read a model's SQL differently."""
    listed = ", ".join(columns)
    return NotIncrementalError(
        f"{model} cannot be kept up to date by what changed in its sources.\n"
        "  Expected: SQL that sqlglot, by which this package reads it, and Spark read alike.\n"
        f"  Found: different plans of the query for {listed}.\n"
        "  To fix: qualify each column by the alias of its relation, give computed columns an alias, and write "
        "casts out; or set on_not_incremental to 'full_refresh', which rebuilds the table when a source has changed."
    )
