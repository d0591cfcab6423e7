"""The errors of models in Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from iceberg_incremental.errors import ConfigError
from iceberg_incremental.explain.entries import indexed
from iceberg_incremental.plan.policy import MATERIALIZATION


@indexed
def not_literal(macro: str, model: str, line: int, found: str) -> ConfigError:
    """A function of ``dbt`` is called with what is only known when the model's code runs."""
    return ConfigError(
        f"dbt.{macro}() in {model}, line {line}, gets what is only known when the model's code runs.\n"
        f"  Expected: dbt.{macro}(dbt.ref('…')) or dbt.{macro}(dbt.source('…', '…')), and texts for its further "
        "arguments: what a run reads is captured before.\n"
        f"  Found: {found[:200]}\n"
        "  To fix: write the ref() or source() into the call, and its names and the other arguments as literals."
    )


@indexed
def unknown_function(macro: str, known: Sequence[str], model: str, line: int) -> ConfigError:
    """A model calls a function that ``dbt`` does not have; ``known``: those of ours that it has."""
    near = get_close_matches(macro, known, 1, 0.7)
    return ConfigError(
        f"{model} calls dbt.{macro}() in line {line}, which does not exist.\n"
        f"  Expected: one of {', '.join(f'dbt.{each}()' for each in known)}.\n"
        f"  To fix: {f'write dbt.{near[0]}()' if near else 'call one of these'}."
    )


@indexed
def no_capture_in_python(model: str) -> ConfigError:
    """The model's code reads no source by a function that captures it."""
    return ConfigError(
        f"{model} is materialized as '{MATERIALIZATION}', but its code captures no source.\n"
        "  Expected: at least one of dbt.ip_changes(), dbt.ip_changelog() and dbt.ip_as_of(), of a dbt.ref() or "
        "dbt.source().\n"
        "  To fix: read the source that drives the model by dbt.ip_changes(dbt.ref('…')), or use another "
        "materialization."
    )


@indexed
def unknown_read(macro: str, model: str) -> ConfigError:
    """A function of ``dbt`` was called in a way that the model's text does not show."""
    return ConfigError(
        f"{model} calls dbt.{macro}() in a way that its text does not show.\n"
        f"  Expected: a call that is written as dbt.{macro}(dbt.ref('…')), from which dbt knew before the run what to "
        "capture.\n"
        "  Found: other arguments, or a DataFrame that is not what dbt.ref() or dbt.source() returned.\n"
        f"  To fix: call dbt.{macro}() by this name, and write the ref() or source() into the call."
    )


@indexed
def not_read(model: str, calls: Iterable[str]) -> ConfigError:
    """The code of a model did not come to calls whose changes were captured; ``calls``: as texts."""
    listed = ", ".join(sorted(calls))
    return ConfigError(
        f"The code of {model} has not called {listed}.\n"
        "  Expected: every run calls what its text names. The checkpoint would move past these changes, and no later "
        "run would see them.\n"
        "  To fix: call it at the start of model(), outside of any condition: a first build gets all rows from it."
    )
