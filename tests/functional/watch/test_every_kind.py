"""``watch`` and ``pending`` on a project with every kind of node, while a writer commits and failures occur.

``WATCH_MINUTES`` sets how long the failures are repeated: one round by default, 10 minutes in ``make soak``.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from dbt.adapters.spark_iceberg.profile.lakehouse import CATALOG_FILE

from .every_kind import LATEST, differing, every_kind
from .test_pending import NO_JAVA
from .watching import Watching, pending

MINUTES = float(os.environ.get("WATCH_MINUTES", "0"))
KINDS = "kind,label\n0,even\n1,odd\n"


def test_what_is_pending(shop):
    every_kind(shop)
    first = pending(shop.folder, **NO_JAVA)
    assert first.returncode == 0, first.stderr
    listed = {"days", "history", "latest", "mirror", "named", "plain", "python_copy", "shown", "staged"}
    assert set(first.stdout.split()) >= {f"shop.{name}" for name in listed - {"days", "history"}}
    assert "shop.doubled" not in first.stdout and "shop.off" not in first.stdout


class Writer:
    """Commits to the source, and causes and fixes failures."""

    def __init__(self, shop, watching: Watching, source: str, catalog: Path, chance: random.Random) -> None:
        """``catalog``: the SQLite file of the lakehouse's catalog."""
        self.shop = shop
        self.catalog = catalog
        self.watching = watching
        self.source = source
        self.chance = chance
        self.next_id = 1
        self.commits = 0
        self.injected: dict[str, int] = {}

    def commit(self) -> None:
        """Insert, update or delete some rows."""
        what = self.chance.random()
        if what < 0.8:
            count = self.chance.randint(1, 5)
            self.shop.insert(self.source, *(f"({self.next_id + each}, 'v{self.commits}')" for each in range(count)))
            self.next_id += count
        else:
            row = self.chance.randint(1, self.next_id)
            change = "delete from {0}" if what < 0.9 else "update {0} set v = concat(v, '+')"
            self.shop.sql(f"{change.format(self.source)} where id = {row}")
        self.commits += 1

    def insert(self) -> tuple[int, str]:
        """Insert one row; returns it."""
        row = (self.next_id, f"v{self.commits}")
        self.shop.insert(self.source, str(row))
        self.next_id += 1
        self.commits += 1
        return row

    def poison(self) -> None:
        """Insert a row that fails an audit, and then delete it."""
        before = len(self.watching.failures("staged"))
        self.shop.insert(self.source, "(null, 'poison')")
        self.watching.until(lambda: len(self.watching.failures("staged")) > before)
        self.shop.sql(f"delete from {self.source} where id is null")
        self.commits += 2

    def break_sql(self) -> None:
        """Break a model, and then fix it."""
        merge = {"incremental_strategy": "merge", "unique_key": "id", "on_source_rewrite": "full_refresh"}
        before, versions = len(self.watching.failures("latest")), len(self.watching.events("ProjectReloaded"))
        self.shop.model("latest", LATEST.replace("select id", "select no_such_column as id"), **merge)
        self.watching.until(lambda: len(self.watching.events("ProjectReloaded")) > versions)
        self.insert()
        self.watching.until(lambda: len(self.watching.failures("latest")) > before)
        self.shop.model("latest", LATEST, **merge)

    def break_project(self) -> None:
        """Add a file that does not parse, and then remove it. Meanwhile, watch builds the previous models."""
        before = len(self.watching.events("ProjectNotReloaded"))
        self.shop.write("models/broken.sql", "select * from {{ ref('no_such_model') }}")
        self.watching.until(lambda: len(self.watching.events("ProjectNotReloaded")) > before)
        row = self.insert()
        self.watching.until(lambda: self.shop.rows(self.shop.built("mirror"))[row] == 1)
        (self.shop.folder / "models/broken.sql").unlink()

    def break_test(self) -> None:
        """Write a seed that makes a test of a downstream model fail, and then fix it."""
        before = len(self.watching.failures("named"))
        self.shop.write("seeds/kinds.csv", KINDS.replace("odd", ""))
        self.watching.until(lambda: len(self.watching.failures("named")) > before)
        self.shop.write("seeds/kinds.csv", KINDS)

    def replace_source(self) -> None:
        """Replace the source with a new table."""
        rows = f"select * from {self.source} where id % 7 > 0"
        self.shop.sql(f"create or replace table {self.source} using iceberg as {rows}")
        self.commits += 1

    def lock_catalog(self) -> None:
        """Lock the catalog for some seconds."""
        self.insert()
        with closing(sqlite3.connect(self.catalog, isolation_level=None)) as connection:
            connection.execute("begin exclusive")
            time.sleep(8)
            connection.execute("rollback")

    @property
    def failures(self) -> list[Callable[[], None]]:
        return [
            self.break_sql, self.break_test, self.poison, self.break_project, self.replace_source, self.lock_catalog
        ]  # fmt: skip

    def round(self, count: int) -> None:
        """Cause each of the first failures once, in random order, with commits in between."""
        for failure in self.chance.sample(self.failures[:count], count):
            for _ in range(self.chance.randint(1, 4)):
                self.commit()
                time.sleep(self.chance.uniform(0, 1))
            failure()
            self.injected[failure.__name__] = self.injected.get(failure.__name__, 0) + 1


@pytest.mark.parametrize(
    ("count", "minutes"),
    [pytest.param(2, 0.0, id="short"), pytest.param(6, MINUTES, marks=pytest.mark.thorough, id="long")],
)
def test_all_tables_equal_the_oracle(count, minutes, shop, watch, warehouse, record_property):
    source = every_kind(shop)
    shop.dbt("seed")
    chance = random.Random(20261124)
    metrics = shop.folder / "metrics.prom"
    began = time.monotonic()
    watching = watch("--retry-after", "1s", "--retry-at-most", "4s", "--metrics-file", str(metrics),
                     "--status-page", str(shop.folder / "status.html"))  # fmt: skip
    writer = Writer(shop, watching, source, warehouse / CATALOG_FILE, chance)
    writer.commit()
    watching.until(lambda: watching.events("RunEnded"))
    while not writer.injected or time.monotonic() - began < 60 * minutes:
        writer.round(count)
    writer.insert()

    watching.until(lambda: not differing(shop))
    watching.until(lambda: watching.events("RunEnded")[-1]["outcome"] == "success")
    assert watching.stop() == 0
    assert "Traceback" not in watching.log()
    assert not watching.events("ChoreFailed")
    assert differing(shop) == []
    runs = watching.events("RunEnded")
    record_property(
        "watched",
        f"watch ran for {time.monotonic() - began:.0f} s: {writer.commits} commits, {len(runs)} runs, of which "
        f"{sum(each['outcome'] == 'failure' for each in runs)} failed, {len(watching.events('ProjectReloaded'))} "
        f"reloads; injected and fixed {writer.injected}; all tables equal the oracle",
    )
