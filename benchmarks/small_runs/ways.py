"""The methods of following a small table: their models, and the rebuilds for comparison."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..merged import by_hand
from ..merged.changes import KEY, LISTED

SOURCE, FEED, CHANGES = "dimension", "feed", "changes"

MIRROR, UPSERTS, GROUPS, APPEND, TYPED = "mirror", "upserts", "groups", "append", "typed_merge"
AUTO, AUTO_GROUPS, AUTO_FEED = "auto", "auto_groups", "auto_feed"
REBUILD, REBUILD_GROUPS, REBUILD_FEED = "rebuild", "rebuild_groups", "rebuild_feed"

_OURS = "iceberg_incremental_snapshot"


@dataclass(frozen=True)
class Way:
    """A method. ``name``: also the name of its table. ``sql``: the SQL of its model; None for a hand-written statement.

    ``rebuild``: the model with ``materialized='table'`` and the same rows. ``exact``: whether it applies deletes.
    """

    name: str
    label: str
    rebuild: str
    sql: str | None
    config: dict[str, Any] = field(default_factory=dict, hash=False)
    exact: bool = True


_SOURCE, _FEED = f"source('raw', '{SOURCE}')", f"source('raw', '{FEED}')"
_MERGE = {"materialized": _OURS, "incremental_strategy": "merge"}
_AUTO = {"materialized": _OURS, "incremental_strategy": "auto"}
_TABLE = {"materialized": "table"}

WAYS = (
    Way(REBUILD, "rebuild, `table`", REBUILD, f"select {LISTED} from {{{{ {_SOURCE} }}}}", _TABLE),
    Way(
        MIRROR,
        "mirror: `ip_changelog`, apply_changes",
        REBUILD,
        f"select {LISTED}, _change_type from {{{{ ip_changelog({_SOURCE}, unique_key='{KEY}') }}}}",
        {"materialized": _OURS, "incremental_strategy": "apply_changes", "unique_key": KEY},
    ),
    Way(AUTO, "plain SQL, auto", REBUILD, f"select {LISTED} from {{{{ {_SOURCE} }}}}", _AUTO),
    Way(
        UPSERTS,
        "`ip_changes` with `upserts`, merge",
        REBUILD,
        f"select {LISTED} from {{{{ ip_changes({_SOURCE}) }}}}",
        {**_MERGE, "unique_key": KEY, "on_source_rewrite": "upserts"},
        exact=False,
    ),
    Way(TYPED, "hand-written MERGE of exactly the changes", REBUILD, None),
    Way(
        REBUILD_GROUPS,
        "rebuild of the groups, `table`",
        REBUILD_GROUPS,
        by_hand.SUMS.format(f"{{{{ {_SOURCE} }}}}"),
        _TABLE,
    ),
    Way(
        GROUPS,
        "`ip_changed_groups`, merge",
        REBUILD_GROUPS,
        by_hand.SUMS.format(f"{{{{ ip_changed_groups({_SOURCE}, 'group_id') }}}}"),
        {**_MERGE, "unique_key": "group_id"},
    ),
    Way(AUTO_GROUPS, "plain SQL of groups, auto", REBUILD_GROUPS, by_hand.SUMS.format(f"{{{{ {_SOURCE} }}}}"), _AUTO),
    Way(REBUILD_FEED, "rebuild of the feed, `table`", REBUILD_FEED, f"select {LISTED} from {{{{ {_FEED} }}}}", _TABLE),
    Way(
        APPEND,
        "`ip_changes`, append",
        REBUILD_FEED,
        f"select {LISTED} from {{{{ ip_changes({_FEED}) }}}}",
        {"materialized": _OURS, "incremental_strategy": "append"},
    ),
    Way(AUTO_FEED, "plain SQL of the feed, auto", REBUILD_FEED, f"select {LISTED} from {{{{ {_FEED} }}}}", _AUTO),
)
"""In display order."""
