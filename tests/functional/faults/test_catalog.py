"""A REST catalog with faults: no row is lost or doubled, a failed run says what to do, and the next one is right.

``CATALOG_FAULTS`` sets how many faults there are: a few in the ordinary tests, 200 and more in ``make chaos``.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re

import pytest

from .proxy import Fault, Kind

FAULTS = int(os.environ.get("CATALOG_FAULTS", "8"))
WRITES = re.compile(rb"^(POST|DELETE) /v1/")
READS = re.compile(rb"^(GET|HEAD) /v1/")

MODELS = {
    "appended": ("select * from {{ ip_changes(source('raw', 'events')) }}", {}),
    "merged": (
        "select * from {{ ip_changes(ref('appended')) }}",
        {"incremental_strategy": "merge", "unique_key": "id"},
    ),
    "applied": (
        "select * from {{ ip_changelog(ref('merged'), unique_key='id') }}",
        {"incremental_strategy": "apply_changes", "unique_key": "id"},
    ),
    "overwritten": (
        "select * from {{ ip_as_of(source('raw', 'events')) }}"
        " where part in (select part from {{ ip_changes(source('raw', 'events')) }})",
        {"incremental_strategy": "insert_overwrite", "partition_by": "part"},
    ),
}


class Pipeline:
    """Models in three stages, all of which hold the rows of one source in the end; each commit adds two rows to it."""

    def __init__(self, shop, proxy):
        self.shop, self.proxy, self.landed = shop, proxy, 0
        self.source = shop.source("events", "id int, part int, v string")
        for name, (sql, config) in MODELS.items():
            shop.model(name, sql, **config)
        self.land()
        shop.run()

    def land(self):
        first, self.landed = self.landed + 1, self.landed + 2
        self.shop.insert(self.source, f"({first}, {first % 3}, 'a')", f"({first + 1}, {first % 2}, 'b')")

    def count(self, request):
        """How many such requests a run with something to do makes."""
        self.land()
        with self.proxy.counting(request) as counted:
            self.shop.run()
        return counted.seen

    def meets(self, fault):
        """Run with a fault. Each model is whole then: its rows are those that its source had at its checkpoint."""
        self.land()
        with self.proxy.having(fault):
            found = self.shop.dbt("run")
        failed = {name: result.message for name, result in found.nodes.items() if result.status == "error"}
        for name in MODELS:
            ((source, position),) = self.checkpoint(name)["sources"].items()
            at = f"{source} version as of {position['snapshot_id']}"
            assert self.shop.rows(self.shop.built(name)) == self.shop.rows(at), (name, fault, found.printed[-3000:])
        if not found.success and not failed:
            failed["dbt"] = found.printed[-1500:]
        return failed

    def checkpoint(self, name):
        """The checkpoint in the newest snapshot of main that has one."""
        return self.shop.checkpoint(self.shop.built(name))

    def finish(self):
        """A run without a fault: every model holds what has landed, and nothing else is left."""
        self.shop.run()
        landed = self.shop.rows(self.source)
        assert landed.total() == self.landed
        for name in MODELS:
            assert self.shop.rows(self.shop.built(name)) == landed, name
            assert self.shop.branches(self.shop.built(name)) == {"main"}, name


@pytest.fixture
def pipeline(shop, proxy):
    return Pipeline(shop, proxy)


def test_faults(pipeline, capsys):
    places = [(READS, n) for n in range(1, pipeline.count(READS) + 1)]
    places += [(WRITES, n) for n in range(1, pipeline.count(WRITES) + 1)]
    print(len(places), [w for w, _ in places].count(WRITES))
    chance = random.Random(5)
    all_faults = list(itertools.product(Kind, places))
    chance.shuffle(all_faults)
    for kind, (request, at) in all_faults[:FAULTS]:
        times = chance.choice([1, 1, 1, 2, 20])
        fault = Fault(kind, request, at=at, times=times)
        failed = pipeline.meets(fault)
        print("FAULT", kind.name, request.pattern[:8], at, times, "met" if fault.was_met else "NOT met", json.dumps(failed)[:1500])
        pipeline.finish()
