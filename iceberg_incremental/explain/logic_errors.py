"""The messages of an edited model, whose table has rows from earlier logic."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import ConfigError, message
from ..table.history import TableName
from .wording import command, full_refresh, short


def logic_changed(
    target: TableName, model: str, after: int, differences: Sequence[str], *, is_new: bool
) -> ConfigError:
    """Rows of the table were written by different logic, and ``on_sql_change`` is ``fail``."""
    return ConfigError(
        f"The logic of {model} has changed since run {after}, and on_sql_change is fail.",
        expected=f"the SQL, macros, variables and configs that wrote the rows of {target}.",
        found=_found(differences) if is_new else f"rows up to run {after} from different logic.",
        fix=_ways(model),
    ).named("logic-changed")


def logic_changed_warning(model: str, after: int, differences: Sequence[str], *, is_new: bool) -> str:
    """The warning of a run that continues a table with rows from different logic."""
    if not is_new:
        return (
            f"Rows of {model} up to run {after} were written by different logic. To fix, either "
            f"{', or '.join(_ways(model))}."
        )
    return message(
        f"The logic of {model} has changed since run {after}. Rows written up to run {after} keep the old logic.",
        found=_found(differences),
        fix=[*_ways(model), "to choose what happens in such cases, set on_sql_change"],
    )


def changed_since(after: int) -> str:
    """The state of a table with rows from different logic, in ``ip_status`` and the log."""
    return f"logic changed since run {after}"


def _found(differences: Sequence[str]) -> str:
    if not differences:
        return "different logic. The earlier SQL is not known, so there is no diff."
    return "".join(f"\n    {line}" for line in differences)


def _ways(model: str) -> list[str]:
    accept = command("ip_set_checkpoint", model=short(model), accept_sql="true")
    return [
        f"rebuild the table with the new logic: {full_refresh(model)}",
        f"accept the existing rows without a rebuild: `{accept}`",
    ]
