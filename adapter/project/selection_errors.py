"""The errors of model and source names in the arguments of operations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from iceberg_incremental.errors import ConfigError
from iceberg_incremental.explain.wording import argument
from iceberg_incremental.plan.policy import MATERIALIZATION
from iceberg_incremental.table.history import TableName


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
