"""Models of each strategy, with known rows for every position in their sources, and runs with faults."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from tests.functional.incremental.shop import Outcome, Shop

COLUMNS = "id int, part int, v int"
OLD = 20
"""The number of initial keys: -1 to -OLD."""


@dataclass(frozen=True)
class Model:
    """``rows``: the query of the expected rows; ``{source}`` is the part of the source that the model has read."""

    source: str
    sql: str
    rows: str = "select * from {source}"
    config: dict[str, Any] = field(default_factory=dict)


MODELS = {
    "appended": Model("events", "select * from {{ ip_changes(source('raw', 'events')) }}"),
    "merged": Model(
        "events",
        "select * from {{ ip_changes(source('raw', 'events')) }}",
        "select id, max_by(part, v), max(v) from {source} group by id",
        {"incremental_strategy": "merge", "unique_key": "id"},
    ),
    "overwritten": Model(
        "events",
        "select * from {{ ip_as_of(source('raw', 'events')) }}"
        " where part in (select part from {{ ip_changes(source('raw', 'events')) }})",
        config={"incremental_strategy": "insert_overwrite", "partition_by": "part"},
    ),
    "applied": Model(
        "accounts",
        "select * from {{ ip_changelog(source('raw', 'accounts'), unique_key='id') }}",
        config={"incremental_strategy": "apply_changes", "unique_key": "id"},
    ),
    # records deletions in a separate table
    "ordered": Model(
        "log",
        "select * from {{ ip_changes(source('raw', 'log')) }}",
        "select id, max_by(part, v), max(v) from {source} group by id having max_by(_change_type, v) = 'UPDATE_AFTER'",
        {"incremental_strategy": "apply_changes", "unique_key": "id", "sequence_by": "v"},
    ),
    # CREATE OR REPLACE TABLE AS in each run
    "rebuilt": Model(
        "accounts",
        "select * from {{ ip_changes(source('raw', 'accounts')) }}",
        config={"on_source_rewrite": "full_refresh"},
    ),
    # CREATE TABLE AS: dropped before each run with faults
    "created": Model("events", "select * from {{ ip_changes(source('raw', 'events')) }}"),
}


@dataclass(frozen=True)
class State:
    """The state in a table's metadata: the position of its checkpoint in its source, and its branches."""

    position: int | None
    branches: frozenset[str]


class Pipeline:
    """The models and their sources, and commits to these sources."""

    def __init__(self, shop: Shop, models: Collection[str] = tuple(MODELS)) -> None:
        self.shop, self.landed = shop, 0
        self.models = {name: MODELS[name] for name in models}
        shop.source("events", COLUMNS)
        shop.source("accounts", COLUMNS)
        shop.source("log", f"{COLUMNS}, _change_type string")
        for name, model in self.models.items():
            shop.model(name, model.sql, **model.config)
        old = [f"({-number}, {number % 3}, 0)" for number in range(1, OLD + 1)]
        shop.insert(shop.raw("events"), *old)
        shop.insert(shop.raw("accounts"), *old)
        shop.insert(shop.raw("log"), "(0, 0, -9, 'UPDATE_AFTER')")
        self.require_whole(shop.run())

    def land(self) -> None:
        """Commit to each source: a new key, a changed key, a deleted key and a late row."""
        self.landed = n = self.landed + 1
        changed, gone = -(n % OLD) - 1, max(n - 3, 0)
        self.shop.insert(self.shop.raw("events"), f"({n}, {n % 3}, {n})", f"({changed}, {n % 2}, {n})")
        self.shop.sql(
            f"merge into {self.shop.raw('accounts')} t using (select * from values ({n}, {n % 3}), ({changed}, 7),"
            f" ({gone}, null) as s (id, part)) s on t.id = s.id"
            f" when matched and s.part is null then delete when matched then update set part = s.part, v = {n}"
            f" when not matched and s.part is not null then insert (id, part, v) values (s.id, s.part, {n})"
        )
        self.shop.insert(
            self.shop.raw("log"),
            f"({n}, {n % 3}, {n}, 'UPDATE_AFTER')",
            f"({n - 3}, null, {n}, 'DELETE')",
            f"({n - 6}, 9, {n - 9}, 'UPDATE_AFTER')",  # older than its deletion
        )

    def struck(self, by: AbstractContextManager[Any]) -> dict[str, str]:
        """Run with faults; returns the messages of failed models. Each message must contain a fix.

        Afterwards, the rows of each model must equal those of its source at the checkpoint.
        """
        self.land()
        self.shop.sql(f"drop table if exists {self.shop.built('created')}")
        with by:
            found = self.shop.dbt("run")
        self.require_whole(found)
        failed = {name: str(node.message) for name, node in found.nodes.items() if node.status == "error"}
        if not found.success and not failed:
            failed["dbt"] = f"{found.exception or found.printed[-3000:]}"
        for name, message in failed.items():
            assert "To fix" in message, (name, message)
            assert "\tat org.apache" not in message, (name, message)
        return failed

    def finish(self) -> None:
        """Run without faults. Every model must equal its source, and no branch other than main must be left."""
        self.land()
        found = self.shop.run()
        states = self.require_whole(found)
        for name, model in self.models.items():
            assert states[name].position == self.shop.head(self.shop.raw(model.source)), name
            assert states[name].branches == {"main"}, name

    def require_whole(self, found: Outcome) -> dict[str, State]:
        """Require that each existing table equals its source at the checkpoint; returns the state of each table."""
        states = self._states()
        pinned = {
            name: self.models[name].rows.format(source=f"{self._source(name)} version as of {state.position}")
            for name, state in states.items()
        }
        assert self._rows({name: f"select * from {self.shop.built(name)}" for name in states}) == self._rows(pinned), (
            found.printed[-5000:]
        )
        return states

    def _source(self, name: str) -> str:
        return self.shop.raw(self.models[name].source)

    def _rows(self, queries: dict[str, str]) -> dict[str, Counter[tuple[Any, ...]]]:
        """The rows of all queries by name, read in one statement."""
        rows: dict[str, Counter[tuple[Any, ...]]] = defaultdict(Counter)
        for name, *row in self._union(f"select '{name}', q.* from ({sql}) q" for name, sql in queries.items()):
            rows[name][tuple(row)] += 1
        return rows

    def _states(self) -> dict[str, State]:
        tables = {name for _, name, _ in self.shop.sql(f"show tables in {self.shop.catalog}.`{self.shop.schema}`")}
        built = {name: self.shop.built(name) for name in self.models if name in tables}
        kept = "snapshot_id, parent_id, summary['ip.checkpoint']"
        rows = self._union(f"select '{name}', {kept} from {table}.snapshots" for name, table in built.items())
        carried = {(name, snapshot_id): (parent_id, checkpoint) for name, snapshot_id, parent_id, checkpoint in rows}
        refs: dict[str, dict[str, int]] = defaultdict(dict)
        for name, ref, head in self._union(f"select '{n}', name, snapshot_id from {t}.refs" for n, t in built.items()):
            refs[name][ref] = head

        def position(name: str) -> int | None:
            parent_id: int | None = refs[name]["main"]
            while parent_id is not None:
                parent_id, checkpoint = carried[name, parent_id]
                if checkpoint is not None:
                    ((_, found),) = json.loads(checkpoint)["sources"].items()
                    return int(found["snapshot_id"])
            return None

        return {name: State(position(name), frozenset(refs[name])) for name in built}

    def _union(self, queries: Iterable[str]) -> list[tuple[Any, ...]]:
        return self.shop.sql(" union all ".join(f"({sql})" for sql in queries))
