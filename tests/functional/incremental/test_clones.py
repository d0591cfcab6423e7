"""``dbt clone`` without copies: the clone continues from its origin's checkpoint, and neither affects the other."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from .shop import CATALOG, Shop

CHANGES = "select * from {{ ip_changes(source('raw', 'events')) }}"
LATEST = "select id, max(v) as v from {{ ip_changes(ref('staged')) }} group by id"
MERGE = {"incremental_strategy": "merge", "unique_key": "id", "aggregates_of_changes": "allow"}


@pytest.fixture
def events(shop):
    """A source with one commit that `staged` and `latest` have read, and one that is pending."""
    table = shop.source("events")
    shop.model("staged", CHANGES)
    shop.model("latest", LATEST, **MERGE)
    shop.insert(table, "(1, 'a')")
    shop.run()
    shop.insert(table, "(2, 'b')")
    return table


class Dev:
    """The project in another schema, and the state of the first schema."""

    def __init__(self, shop: Shop, state: Path) -> None:
        self.shop = shop
        self.schema = f"{shop.schema}_dev"
        self.state = str(state)
        shutil.copytree(shop.folder / "target", state)
        profiles = shop.folder / "profiles.yml"
        self._of_shop = profiles.read_text()
        self._own = self._of_shop.replace(f"schema: {shop.schema}\n", f"schema: {self.schema}\n")

    def dbt(self, *arguments: str):
        """Run a dbt command in this environment."""
        profiles = self.shop.folder / "profiles.yml"
        profiles.write_text(self._own)
        try:
            return self.shop.dbt(*arguments)
        finally:
            profiles.write_text(self._of_shop)

    def clone(self, *arguments: str):
        """Run ``dbt clone``, which must succeed."""
        found = self.dbt("clone", "--state", self.state, *arguments)
        assert found.success, found.printed[-3000:]
        return found

    def run(self, *arguments: str):
        """Run ``dbt run`` under --defer, which must succeed."""
        found = self.dbt("run", "--defer", "--state", self.state, *arguments)
        assert found.success, found.printed[-3000:]
        return found

    def table(self, name: str) -> str:
        return f"{CATALOG}.`{self.schema}`.`{name}`"


@pytest.fixture
def dev(shop, events, tmp_path):
    return Dev(shop, tmp_path / "state")


def test_under_defer_a_history_is_read_with_its_configs(shop, tmp_path):
    table = shop.source("customers")
    config = {"incremental_strategy": "history", "unique_key": "id", "hard_deletes": "new_record"}
    shop.model("kept", "select * from {{ ip_changelog(source('raw', 'customers')) }}", **config)
    shop.model("now", "select id from {{ ip_history_as_of(ref('kept'), 'current_timestamp()') }}", materialized="table")
    shop.insert(table, "(1, 'a')", "(2, 'a')")
    shop.run("--select", "kept")
    shop.sql(f"delete from {table} where id = 2")
    shop.run()
    assert shop.rows(shop.built("now")) == {(1,): 1}
    dev = Dev(shop, tmp_path / "state")
    dev.run("--select", "now")
    assert shop.rows(dev.table("now")) == {(1,): 1}


def files(shop: Shop, table: str) -> set[str]:
    return {row[0] for row in shop.sql(f"select file_path from {table}.files")}


@pytest.mark.core
def test_a_clone_has_the_files_and_the_checkpoint_of_its_origin(shop, events, dev):
    origin, clone = shop.built("staged"), dev.table("staged")
    dev.clone("--select", "staged")
    assert shop.rows(clone) == shop.rows(origin)
    assert files(shop, clone) == files(shop, origin)
    assert shop.branches(clone) == {"main"}
    prefix = f"ip_cloned_by.{CATALOG}.{dev.schema}.staged."
    assert any(each.startswith(prefix) for each in shop.branches(origin))
    assert shop.properties(clone)["gc.enabled"] == "false"
    assert shop.sql(f"show tables in {CATALOG}.`{dev.schema}`") == [(dev.schema, "staged", False)]
    assert dev.run("--select", "staged").action("staged") == "apply"
    assert shop.rows(clone) == Counter([(1, "a"), (2, "b")])
    assert shop.rows(origin) == Counter([(1, "a")])
    written = files(shop, clone) - files(shop, origin)
    assert len(written) == 1 and all(f"/{dev.schema}/" in path for path in written)
    assert shop.run("--select", "staged").action("staged") == "apply"
    assert shop.rows(origin) == shop.rows(clone)


@pytest.mark.core
def test_a_clone_of_a_clone_s_reader_goes_on_too(shop, events, dev):
    """A cloned model reads another clone. The snapshots of the origin are also snapshots of the clone."""
    dev.clone()
    found = dev.run()
    assert (found.action("staged"), found.action("latest")) == ("apply", "apply")
    assert shop.rows(dev.table("latest")) == Counter([(1, "a"), (2, "b")])
    assert set(shop.checkpoint(dev.table("latest"))["sources"]) == {f"{CATALOG}.{dev.schema}.staged"}
    shop.insert(events, "(3, 'c')")
    assert dev.run().action("latest") == "apply"
    assert shop.rows(dev.table("latest"))[(3, "c")] == 1


def test_a_reader_that_was_cloned_alone_reads_the_origin(shop, events, dev):
    dev.clone("--select", "latest")
    shop.run("--select", "staged")
    assert dev.run("--select", "latest").action("latest") == "apply"
    assert shop.rows(dev.table("latest")) == Counter([(1, "a"), (2, "b")])
    verify = ("run-operation", "ip_verify", "--args", "{model: latest}")
    deferred = dev.dbt(*verify, "--defer", "--state", dev.state)
    assert deferred.success and "1 equal" in deferred.printed
    assert "1 not compared" in dev.dbt(*verify).printed
    without = dev.dbt(*verify, "--defer", "--state", "nowhere")
    assert not without.success and "has no manifest to defer to" in without.printed


def test_existing_tables_are_replaced_only_on_request(shop, events, dev):
    dev.clone("--select", "staged")
    dev.run("--select", "staged")
    dev.clone("--select", "staged")
    assert shop.rows(dev.table("staged"))[(2, "b")] == 1
    dev.clone("--select", "staged", "--full-refresh")
    assert shop.rows(dev.table("staged")) == Counter([(1, "a")])
    assert dev.run("--select", "staged").action("staged") == "apply"


def test_tables_seeds_and_snapshots_are_cloned(shop, events, tmp_path):
    shop.write("seeds/colours.csv", "id,name\n1,red\n")
    shop.model("whole", "select * from {{ ref('colours') }}", materialized="table")
    shop.write(
        "snapshots/seen.yml",
        "snapshots:\n  - name: seen\n    relation: ref('whole')\n"
        "    config: {strategy: check, check_cols: [name], unique_key: id}\n",
    )
    assert shop.dbt("build", "--select", "colours+").success
    dev = Dev(shop, tmp_path / "other")
    dev.clone("--select", "colours+")
    for name in ("colours", "whole", "seen"):
        assert files(shop, dev.table(name)) == files(shop, shop.built(name))
        assert shop.rows(dev.table(name)) == shop.rows(shop.built(name))
    shop.write("seeds/colours.csv", "id,name\n1,blue\n")
    assert dev.dbt("build", "--select", "colours+").success
    assert shop.rows(dev.table("seen"), "id, name, dbt_valid_to is null") == Counter(
        [(1, "red", False), (1, "blue", True)]
    )
    assert shop.rows(shop.built("seen"), "id, name") == Counter([(1, "red")])


@pytest.mark.core
def test_properties_that_would_write_into_the_origin_s_folders(shop, events, tmp_path):
    """With one of these properties, a commit of the clone could remove a metadata file of the origin."""
    folder = tmp_path / "elsewhere"
    shop.model(
        "staged",
        CHANGES,
        tblproperties={
            "write.data.path": f"{folder}/data",
            "write.metadata.path": f"{folder}/metadata",
            "write.metadata.delete-after-commit.enabled": "true",
            "write.metadata.previous-versions-max": "1",
        },
    )
    shop.run("--full-refresh")
    dev = Dev(shop, tmp_path / "other")
    dev.clone("--select", "staged")
    shop.insert(events, "(3, 'c')")
    dev.run("--select", "staged")
    shop.insert(events, "(4, 'd')")
    dev.run("--select", "staged")
    assert not any(
        path.startswith(str(folder)) for path in files(shop, dev.table("staged")) - files(shop, shop.built("staged"))
    )
    shop.sql(f"refresh table {shop.built('staged')}")
    assert shop.rows(shop.built("staged")) == Counter([(1, "a"), (2, "b")])
    shop.run("--select", "staged")
    assert shop.rows(shop.built("staged")) == shop.rows(dev.table("staged"))


@pytest.mark.parametrize("materialized", ["table", "iceberg_incremental_snapshot"])
def test_a_clone_that_is_rebuilt_removes_no_metadata_file(shop, events, tmp_path, materialized):
    """The clone's metadata log names files of the origin. Iceberg would remove these after some commits."""
    log = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "8"}
    sql = "select * from {{ source('raw', 'events') }}" if materialized == "table" else CHANGES
    shop.model("staged", sql, materialized=materialized, tblproperties=log)
    shop.run("--full-refresh", "--select", "staged")
    dev = Dev(shop, tmp_path / "other")
    dev.clone("--select", "staged")
    for _ in range(7):
        dev.run("--full-refresh", "--select", "staged")
    assert shop.properties(dev.table("staged"))["write.metadata.delete-after-commit.enabled"] == "false"
    shop.sql(f"refresh table {shop.built('staged')}")
    assert shop.rows(shop.built("staged")) == Counter([(1, "a"), (2, "b")])


@pytest.mark.parametrize("seed", range(4))
def test_no_operation_on_one_table_affects_the_other(shop, events, dev, seed):
    """Expiry, compaction, removal of orphans, rollbacks and runs on both sides, in random order."""
    choose = random.Random(seed)
    origin, clone = shop.built("staged"), dev.table("staged")
    for number in range(3, 6):
        shop.run("--select", "staged")
        shop.insert(events, f"({number}, 'x')")
    dev.clone("--select", "staged")
    before = shop.rows(clone)
    call = f"call {CATALOG}.system"
    old = "older_than => timestamp '2100-01-01 00:00:00', retain_last => 1"
    steps = {
        "expire": lambda t: f"{call}.expire_snapshots(table => '{t}', {old})",
        "compact": lambda t: f"{call}.rewrite_data_files(table => '{t}', options => map('rewrite-all', 'true'))",
        "manifests": lambda t: f"{call}.rewrite_manifests(table => '{t}')",
        "orphans": lambda t: (
            f"{call}.remove_orphan_files(table => '{t}', older_than => timestamp '2020-01-01 00:00:00')"
        ),
        "delete": lambda t: f"delete from {t} where id = {choose.randrange(1, 6)}",
        "append": lambda t: f"insert into {t} values (9, 'own')",
    }
    refused = {"expire", "orphans"}
    at_clone = shop.head(clone)
    for _ in range(12):
        step, on_origin = choose.choice(list(steps)), choose.random() < 0.6
        table = origin if on_origin else clone
        rows = {each: shop.rows(each) for each in (origin, clone)}
        if not on_origin and step in refused:
            with pytest.raises(Exception, match="GC is disabled"):
                shop.sql(steps[step](table))
        else:
            shop.sql(steps[step](table))
        other = clone if on_origin else origin
        assert shop.rows(other) == rows[other], step
        if step not in ("delete", "append"):
            assert shop.rows(table) == rows[table], step
    assert shop.rows(f"{clone} version as of {at_clone}") == before
    rows = shop.rows(clone)
    shop.sql(f"drop table {origin}")
    assert shop.rows(clone) == rows
    with pytest.raises(Exception, match=r"GC is disabled|gc\.enabled"):
        shop.sql(f"drop table {clone} purge")
    assert shop.rows(clone) == rows


def test_a_clone_that_is_dropped_leaves_its_origin_whole(shop, events, dev):
    dev.clone("--select", "staged")
    dev.run("--select", "staged")
    shop.sql(f"drop table {dev.table('staged')}")
    assert shop.rows(shop.built("staged")) == Counter([(1, "a")])
    dev.clone("--select", "staged")
    assert shop.rows(dev.table("staged")) == Counter([(1, "a")])


def test_maintenance_on_both_sides(shop, events, dev):
    dev.clone("--select", "staged")
    rows = shop.rows(dev.table("staged"))
    for _ in range(3):
        shop.run("--select", "staged")
        shop.insert(events, "(7, 'z')")
    assert shop.operation("ip_maintain", select="staged", max_snapshot_age="1 ms", orphan_files=True).success
    assert shop.rows(dev.table("staged")) == rows
    assert dev.dbt("run-operation", "ip_maintain", "--args", "{select: staged, max_snapshot_age: 1 ms}").success
    assert shop.rows(dev.table("staged")) == rows
    assert dev.run("--select", "staged").action("staged") == "apply"


@pytest.mark.parametrize("config", [{"clone_as": "copy"}, {"clone_retention": "soon"}, {"clone_retention": 7}])
def test_invalid_configs(shop, events, tmp_path, config):
    shop.model("staged", CHANGES, **config)
    shop.run("--select", "staged")
    dev = Dev(shop, tmp_path / "other")
    found = dev.dbt("clone", "--select", "staged", "--state", dev.state)
    (key,) = config
    assert not found.success and "The configuration of model.shop.staged is not valid" in found.printed
    assert f"- {key} is {config[key]!r}: expected" in found.printed


def test_a_cloned_source_does_not_change(shop, events, dev):
    """So that a pull request can replay a range on it."""
    frozen = f"{shop.schema}_frozen"
    asked = {"source": "events", "schema": frozen}
    assert shop.operation("ip_clone_source", **asked).success
    clone = f"{CATALOG}.`{frozen}`.`events`"
    shop.insert(events, "(3, 'c')")
    assert shop.rows(clone) == Counter([(1, "a"), (2, "b")])
    assert "already exists" in shop.operation("ip_clone_source", **asked).printed
    dev.clone("--select", "staged")
    declared = shop.folder / "models" / "sources.yml"
    declared.write_text(declared.read_text().replace(f"schema: {shop.source_schema}", f"schema: {frozen}"))
    assert dev.run("--select", "staged").action("staged") == "apply"
    assert shop.rows(dev.table("staged")) == shop.rows(clone)
    declared.write_text(declared.read_text().replace(f"schema: {frozen}", f"schema: {shop.source_schema}"))
    assert shop.operation("ip_clone_source", **asked, full_refresh=True).success
    assert shop.rows(clone)[(3, "c")] == 1


@pytest.mark.core
def test_a_clone_that_fails_leaves_no_branch_in_its_origin(shop, events):
    """A view, which SHOW TABLES does not list, has the name of the clone, so only the rename fails."""
    frozen = f"{shop.schema}_frozen"
    shop.sql(f"create schema {CATALOG}.`{frozen}`")
    shop.sql(f"create view {CATALOG}.`{frozen}`.`events` as select 7 as id")
    found = shop.operation("ip_clone_source", source="events", schema=frozen)
    assert not found.success and "already exists" in found.printed
    assert shop.branches(events) == {"main"}
    assert shop.sql(f"show tables in {CATALOG}.`{frozen}`") == []


def test_a_source_is_cloned_over_no_other_table(shop, events):
    shop.sql(f"create schema {CATALOG}.`{shop.schema}_frozen`")
    own = f"{CATALOG}.`{shop.schema}_frozen`.`events`"
    shop.sql(f"create table {own} using iceberg as select 7 as id")
    found = shop.operation("ip_clone_source", source="events", schema=f"{shop.schema}_frozen", full_refresh=True)
    assert not found.success and "is not a clone" in found.printed
    assert shop.rows(own) == Counter([(7,)])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"source": "events"}, "schema is None"),
        ({"source": "no_such", "schema": "x"}, "no_such"),
        ({"source": "events", "schema": "x", "retention": "soon"}, "retention is 'soon'"),
    ],
)
def test_invalid_arguments(shop, events, asked, said):
    found = shop.operation("ip_clone_source", **asked)
    assert not found.success and said in found.printed


def test_the_status_of_a_clone_names_the_owner_of_its_files(shop, events, dev):
    dev.clone("--select", "staged")
    said = dev.dbt("run-operation", "ip_status", "--args", "{select: staged}").printed
    assert f"clone of {CATALOG}.{shop.schema}.staged, which keeps the files that they share until 20" in said
    assert "applies what is pending" in said


def test_a_clone_in_the_folder_of_its_origin_is_refused(shop, events, tmp_path):
    """In one folder, each table would treat the files of the other one as orphans."""
    shop.model("staged", CHANGES, location_root=f"file:{tmp_path}/root")
    shop.sql(f"drop table {shop.built('staged')}")
    shop.run("--select", "staged")
    dev = Dev(shop, tmp_path / "other")
    found = dev.dbt("clone", "--select", "staged", "--state", dev.state)
    assert not found.success and "cannot be cloned from" in found.printed
    assert shop.rows(shop.built("staged")) == Counter([(1, "a"), (2, "b")])


def test_plain_sql_on_a_source_that_was_cloned_too(shop, events, tmp_path):
    """The clone's SQL reads another table name than the origin's SQL, so its first run rebuilds the clone."""
    shop.model("counted", "select v, count(*) as n from {{ ref('staged') }} group by v", incremental_strategy="auto")
    shop.run("--select", "counted")
    dev = Dev(shop, tmp_path / "other")
    dev.clone("--select", "staged", "counted")
    dev.run("--select", "staged", "counted")
    assert shop.rows(dev.table("counted")) == Counter([("a", 1), ("b", 1)])
    shop.insert(events, "(3, 'b')")
    dev.run("--select", "staged", "counted")
    assert shop.rows(dev.table("counted")) == Counter([("a", 1), ("b", 2)])


def test_plain_sql_that_was_cloned_alone(shop, events, tmp_path):
    shop.model("counted", "select v, count(*) as n from {{ ref('staged') }} group by v", incremental_strategy="auto")
    shop.run("--select", "counted")
    dev = Dev(shop, tmp_path / "other")
    dev.clone("--select", "counted")
    shop.run("--select", "staged")
    assert dev.run("--select", "counted").action("counted") in ("apply", "rebuild")
    assert shop.rows(dev.table("counted")) == Counter([("a", 1), ("b", 1)])
    assert shop.rows(shop.built("counted")) == Counter([("a", 1)])
