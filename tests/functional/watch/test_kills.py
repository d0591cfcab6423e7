"""A random writer, and ``watch`` that is killed with SIGKILL during its runs. Each stage has every row once.

The first stage has an audit and holds its position, the writer expires all snapshots that Iceberg lets it expire, and
``watch`` maintains the tables with the shortest retention.

``WATCH_COMMITS`` and ``WATCH_KILLS`` set their numbers: few by default, 1,000 and 10 in ``make chaos``.
"""

from __future__ import annotations

import os
import random
import time

from .test_watch import CHANGES, is_built, three_stages

COMMITS = int(os.environ.get("WATCH_COMMITS", "12"))
KILLS = int(os.environ.get("WATCH_KILLS", "2"))
STAGES = ("staged", "latest", "mirror")
LEAST = {"history.expire.max-snapshot-age-ms": "1"}


def test_every_row_once(shop, watch):
    chance = random.Random(20261123)
    source = three_stages(shop)
    shop.model("staged", CHANGES.format("events"), hold_source="1 day", audit=True, tblproperties=LEAST)
    table = source.replace("`", "")
    options = ("--maintain-every", "10s", "--status-page", str(shop.folder / "status.html"))
    kills = {(number + 1) * COMMITS // (KILLS + 1) for number in range(KILLS)}
    shop.insert(source, "(0, 'first')")
    landed = 1
    watching = watch(*options)
    watching.until(lambda: watching.events("RunEnded"))
    for number in range(COMMITS):
        count = chance.randint(1, 5)
        shop.insert(source, *(f"({landed + each}, 'v{number}')" for each in range(count)))
        landed += count
        if chance.random() < 0.05:
            shop.sql(f"call {shop.catalog}.system.rewrite_data_files(table => '{table}')")
        if chance.random() < 0.1:
            shop.sql(f"call {shop.catalog}.system.expire_snapshots(table => '{table}', older_than => now())")
        if number in kills:
            watching.until(lambda: watching.events("RunStarted"))  # noqa: B023 (called at once)
            time.sleep(chance.uniform(0, 6))
            watching.kill()
            watching = watch(*options)
        time.sleep(chance.uniform(0, 0.5))
    shop.insert(source, f"({landed}, 'last')")

    watching.until(lambda: is_built(shop, "mirror") and (landed, "last") in shop.rows(shop.built("mirror")))
    assert watching.stop() == 0
    expected = shop.rows(source)
    assert expected.total() == landed + 1
    for stage in STAGES:
        assert shop.rows(shop.built(stage)) == expected, stage
        assert shop.branches(shop.built(stage)) == {"main"}
        assert shop.operation("ip_ledger", model=stage).success
