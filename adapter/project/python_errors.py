"""The errors of Python models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from iceberg_incremental.errors import ConfigError
from iceberg_incremental.explain.wording import calls
from iceberg_incremental.plan.policy import MATERIALIZATION


def not_literal(macro: str, model: str, line: int, found: str) -> ConfigError:
    """A method of ``dbt`` is called with a value that is only known at run time."""
    return ConfigError(
        f"dbt.{macro}() in {model}, line {line}, has an argument that is only known at run time.",
        expected=f"dbt.{macro}(dbt.ref('…')) or dbt.{macro}(dbt.source('…', '…')), and literals for the other "
        "arguments, because dbt captures the sources before the code runs.",
        found=f"{found[:200]}",
        fix="call ref() or source() directly in the arguments, and write all names and arguments as literals.",
    ).named("not-literal")


def unknown_function(macro: str, known: Sequence[str], model: str, line: int) -> ConfigError:
    """A model calls an unknown method of ``dbt``; ``known``: the methods that this package adds."""
    near = get_close_matches(macro, known, 1, 0.7)
    return ConfigError(
        f"In line {line}, {model} calls dbt.{macro}(), which does not exist.",
        expected=f"one of {', '.join(f'dbt.{each}()' for each in known)}.",
        fix=f"{f'write dbt.{near[0]}()' if near else 'call one of these'}.",
    ).named("unknown-function")


def no_capture_in_python(model: str, macros: Sequence[str]) -> ConfigError:
    """The model's code does not capture a source."""
    return ConfigError(
        f"{model} is materialized as '{MATERIALIZATION}', but its code captures no source.",
        expected=f"at least one of {calls([f'dbt.{each}' for each in macros])} around a dbt.ref() or dbt.source().",
        fix="read the source that drives the model with dbt.ip_changes(dbt.ref('…')), or use another materialization.",
    ).named("no-capture-in-python")


def unknown_read(macro: str, model: str) -> ConfigError:
    """A call of a method of ``dbt`` was not found by static analysis of the model's code."""
    return ConfigError(
        f"{model} calls dbt.{macro}(), but dbt did not find this call in the code before the code ran.",
        expected=f"a call that is written as dbt.{macro}(dbt.ref('…')), because dbt captures the sources before the "
        "code runs.",
        found="other arguments, or a DataFrame that was not returned by dbt.ref() or dbt.source().",
        fix=f"call dbt.{macro}() by this name, with ref() or source() directly in its arguments.",
    ).named("unknown-read")


def not_read(model: str, calls: Iterable[str]) -> ConfigError:
    """The code of a model did not execute all calls that read captured changes; ``calls``: the missing ones as text."""
    listed = ", ".join(sorted(calls))
    return ConfigError(
        f"The code of {model} did not execute {listed}.",
        expected="each run executes every call in the code. Otherwise the checkpoint would move past these changes, "
        "and no later run would read them.",
        fix="call it at the start of model(), outside of any condition. In a first build, it returns all rows.",
    ).named("not-read")
