"""Order within a key: of several rows of one key the newest is in the table, whatever the order in which they come."""

from __future__ import annotations

import random
from collections import Counter

import pytest

LOG = "seq int, at int, id int, v string, op string"
ROWS = "select id, at, seq, v from {{ ip_changes(source('raw', 'log')) }} where op <> 'd'"
CHANGES = (
    "select id, at, seq, v, if(op = 'd', 'DELETE', 'UPDATE_AFTER') as _change_type"
    " from {{ ip_changes(source('raw', 'log')) }}"
)
KEYED = {"unique_key": "id", "sequence_by": ["at", "seq"]}
MERGE = {"incremental_strategy": "merge", **KEYED}
APPLY = {"incremental_strategy": "apply_changes", **KEYED}


def log_of(rng, events, keys):
    """Events in their order: (at, seq, id, v, op). Several share a time; a key is deleted and comes back."""
    return [
        (seq // 3, seq, rng.choice(keys), f"v{seq}", rng.choices("ud", [3, 1])[0]) for seq in range(events)
    ]  # fmt: skip


def newest(events, *, deletes):
    """The table that all events come to: {id: row}."""
    rows = {}
    for at, seq, key, v, op in sorted(events):
        if op != "d":
            rows[key] = (key, at, seq, v)
        elif deletes:
            rows.pop(key, None)
    return rows


def insert(shop, log, events):
    values = (f"({seq}, {at}, {'null' if key is None else key}, '{v}', '{op}')" for at, seq, key, v, op in events)
    shop.insert(log, *values)


@pytest.mark.parametrize("seed", [1, 2])
def test_every_order_of_arrival_gives_the_same_table(shop, seed):
    """Of keys that are NULL ``merge`` takes all rows, as without an order."""
    rng = random.Random(seed)
    log = shop.source("log", LOG)
    shop.model("merged", f"{ROWS} and id is not null", **MERGE)
    shop.model("mirror", CHANGES, **APPLY)
    events = log_of(rng, 60, [1, 2, 3, 4, 5, None])
    arrival = rng.sample(events, len(events))
    # the last event of two keys is a deletion that comes alone, in a run of its own
    gone = [(100, 100, 1, None, "d"), (101, 101, None, None, "d")]
    batches = [arrival[:12], gone, *(arrival[start : start + 12] for start in range(12, 60, 12))]
    seen = []
    for batch in batches:
        for half in (batch[::2], batch[1::2]):
            insert(shop, log, [(at, seq, key, v or "", op) for at, seq, key, v, op in half])
        shop.run()
        seen += batch
        merged = newest([event for event in seen if event[2] is not None], deletes=False)
        assert shop.rows(shop.built("merged")) == Counter(merged.values())
        assert shop.rows(shop.built("mirror")) == Counter(newest(seen, deletes=True).values())
    insert(shop, log, [(at, seq, key, v or "", op) for at, seq, key, v, op in batches[0]])
    shop.run()
    assert shop.rows(shop.built("mirror")) == Counter(newest(seen, deletes=True).values())
    shop.run("--full-refresh")
    assert shop.rows(shop.built("mirror")) == Counter(newest(seen, deletes=True).values())
    assert shop.rows(shop.built("merged")) == Counter(merged.values())
