"""The warnings of positions that are not held."""

from __future__ import annotations

from ..errors import IncrementalError
from ..table.history import TableName


def not_held(source: TableName, model: str, error: IncrementalError) -> str:
    """A source's tag could not be made, or dropped."""
    return (
        f"{model} does not hold its position in {source}.\n"
        "  Expected: a tag in the source, as the config `hold_source` asks for.\n"
        f"  Found: {error.msg.strip()}\n"
        "  What to do: let dbt's user alter this table, or remove `hold_source`. The run goes on; without the tag, an "
        "expiry of the source's snapshots can take away what is not read yet, and the next run then says so."
    )
