"""The errors of a dbt project: names in selections, Python models, and SQL that is correct only in the first run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches

from iceberg_incremental.errors import ConfigError
from iceberg_incremental.explain.wording import argument, calls
from iceberg_incremental.plan.policy import MATERIALIZATION, Policy, Strategy
from iceberg_incremental.table.history import TableName

from .captured import Captured, Total


def not_one_model(
    name: object, found: int, known: Sequence[str], materializations: Collection[str] = (MATERIALIZATION,)
) -> ConfigError:
    """A name matches no model with the expected materialization, or several."""
    return ConfigError(
        f"model is {argument(name)}, which matches {f'{found} models' if found else 'no model'} materialized as "
        f"{_either(materializations)}.",
        expected=f"the name or unique id of one of: {', '.join(known) or 'none'}.",
        fix="pass the unique id." if found else "correct the name.",
    ).named("not-one-model")


def wrong_selection(
    select: object,
    unknown: Sequence[str],
    known: Sequence[str],
    materializations: Collection[str] = (MATERIALIZATION,),
) -> ConfigError:
    """A selection matches no model with the expected materialization, or has unknown terms."""
    wrong = f", which matches no model materialized as {_either(materializations)}"
    if unknown:
        wrong = f". Operations do not support {', '.join(map(repr, unknown))}"
    return ConfigError(
        f"select is {select!r}{wrong}.",
        expected="names or unique ids (with the wildcards * and ?), tag:… and path:…. A space is the union of two "
        f"sets, and a comma is the intersection. The models are: {', '.join(known) or 'none'}.",
        fix="correct the selection. For other selectors of dbt, list the names with `dbt ls`.",
    ).named("wrong-selection")


def _either(materializations: Collection[str]) -> str:
    return " or ".join(f"'{each}'" for each in materializations)


def not_one_source(text: str, found: int, candidates: Iterable[TableName]) -> ConfigError:
    """A name matches none of a model's sources, or several."""
    names = sorted(str(table) for table in candidates)
    listed = f"{'one of ' if len(names) > 1 else ''}{', '.join(names)}" if names else "none: the model reads no table"
    return ConfigError(
        f"source is {text!r}, which is {'more than one' if found else 'none'} of the model's sources.",
        expected=f"{listed}.",
        fix="write the source as catalog.schema.table.",
    ).named("not-one-source")


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


_SHOWN = 3


def aggregated_changes(model: str, policy: Policy, totals: Sequence[Total]) -> ConfigError:
    """A model aggregates only the changes, and its strategy replaces existing rows with the result."""
    listed = "; ".join(f"{total.sql} over {total.captured}" for total in totals[:_SHOWN])
    more = f"; and {len(totals) - _SHOWN} more" if len(totals) > _SHOWN else ""
    keys = list(policy.unique_key) or ["<column of the group>"]
    replaced = "partition" if policy.strategy is Strategy.INSERT_OVERWRITE else "row"
    groups = (
        f"recompute changed groups from all of their rows: from {{{{ ip_changed_groups(ref('…'), {keys}) }}}} group "
        f"by {', '.join(keys)}, with incremental_strategy='merge' and these columns in unique_key"
    )
    days = (
        "recompute changed partitions from all of their rows: {% set days = ip_range(ref('…'), 'day') %}, and from {{ "
        "ip_as_of(ref('…')) }} where day between {{ days.min }} and {{ days.max }}, with "
        "incremental_strategy='insert_overwrite'"
    )
    return ConfigError(
        f"{model} aggregates captured changes. In later runs, these contain only the new rows.",
        expected=f"with incremental_strategy '{policy.strategy.value}', values that do not depend on which rows are "
        f"new, since each new {replaced} replaces an existing {replaced}. A count of the new rows would replace the "
        "count of all rows.",
        found=f"{listed}{more}.",
        fix=[
            *([days, groups] if policy.strategy is Strategy.INSERT_OVERWRITE else [groups, days]),
            "add the new sums to the existing sums: under is_incremental(), add the existing rows of {{ this }} with "
            "UNION ALL, and sum both (docs/patterns.md has the SQL)",
            "if all rows of a group always arrive in one run, set aggregates_of_changes='allow'",
        ],
    ).named("aggregated-changes")


def ignored_sign(model: str, signed: Sequence[Captured]) -> ConfigError:
    """A model reads ``ip_signed_changes`` but ignores the sign, so removed rows count as added rows."""
    return ConfigError(
        f"{model} ignores the sign of the rows that it reads.",
        expected="SQL that reads _change_sign. It is 1 for added rows and -1 for removed rows, so without the sign, a "
        "removed row counts as another added row.",
        found=f"no _change_sign of {', '.join(map(str, signed))}.",
        fix=[
            "for sums and counts: sum(_change_sign), and sum(if(_change_sign = 1, amount, -amount))",
            "for a mirror of the source: ip_changelog(), with incremental_strategy='apply_changes'",
            "for added rows only: where _change_sign = 1",
        ],
    ).named("ignored-sign")
