"""A random writer, and ``watch`` killed by SIGKILL in the middle of its runs: each stage has every row once.

``WATCH_COMMITS`` and ``WATCH_KILLS`` set how many there are: a few here, 1,000 and 10 in ``make chaos``.
"""

from __future__ import annotations

import os
import random
import time

from .test_watch import is_built, three_stages

COMMITS = int(os.environ.get("WATCH_COMMITS", "12"))
KILLS = int(os.environ.get("WATCH_KILLS", "2"))
STAGES = ("staged", "latest", "mirror")


def test_every_row_once(shop, watch):
    chance = random.Random(20261123)
    source = three_stages(shop)
    kills = {(number + 1) * COMMITS // (KILLS + 1) for number in range(KILLS)}
    landed = 0
    watching = watch()
    for number in range(COMMITS):
        count = chance.randint(1, 5)
        shop.insert(source, *(f"({landed + each}, 'v{number}')" for each in range(count)))
        landed += count
        if chance.random() < 0.05:
            shop.sql(f"call {shop.catalog}.system.rewrite_data_files(table => '{source}')")
        if number in kills:
            watching.until(lambda: watching.events("RunStarted"))  # noqa: B023 (called at once)
            time.sleep(chance.uniform(0, 6))
            watching.kill()
            watching = watch()
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
