"""Every kind of commit under every policy, and every policy under every strategy: the cells of docs/guarantees.md."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest

from .shop import CATALOG

CHANGES = "select id, v from {{{{ ip_changes(source('raw', '{source}')) }}}}"
MIRROR = "select id, v, _change_type from {{{{ ip_changelog(source('raw', '{source}'), unique_key='id') }}}}"
BASE = ["insert into {t} values (1, 'a'), (2, 'b')", "insert into {t} values (3, 'c'), (4, 'c')"]
MARKER = (99, "marker")
DYNAMIC = "set spark.sql.sources.partitionOverwriteMode = dynamic"
STATIC = "reset spark.sql.sources.partitionOverwriteMode"
COW = "tblproperties ('write.delete.mode'='copy-on-write', 'write.update.mode'='copy-on-write')"
MOR = (
    "tblproperties ('write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', "
    "'write.merge.mode'='merge-on-read')"
)
BY_V = "partitioned by (v)"
STAGED = "tblproperties ('write.wap.enabled'='true')"
PROCEDURE = f"call {CATALOG}.system."
REWRITE = f"{PROCEDURE}rewrite_data_files(table => '{{t}}', options => map('rewrite-all', 'true'))"
ON_BRANCH = ["alter table {t} create branch side", "insert into {t}.branch_side values (5, 'side')"]


@dataclass(frozen=True)
class Commits:
    """The clauses of a source, and the statements after its first read. ``{staged}``: the one with a ``wap.id``."""

    clauses: str
    statements: list[str]


NEW_ROWS = {
    "insert": Commits("", ["insert into {t} values (5, 'e'), (null, null)"]),
    "merge_that_inserts": Commits(
        COW, ["merge into {t} t using (values (5, 'e') as s(id, v)) s on t.id = s.id when not matched then insert *"]
    ),
    "overwrite_of_an_empty_partition": Commits(BY_V, [DYNAMIC, "insert overwrite {t} values (5, 'e')", STATIC]),
    "fast_forwarded_branch": Commits("", [*ON_BRANCH, f"{PROCEDURE}fast_forward('{{t}}', 'main', 'side')"]),
    "replayed_publish": Commits(
        STAGED,
        [
            "set spark.wap.id = w1",
            "insert into {t} values (5, 'staged')",
            "reset spark.wap.id",
            "insert into {t} values (6, 'f')",
            f"{PROCEDURE}cherrypick_snapshot('{{t}}', {{staged}})",
        ],
    ),
}
NO_ROWS = {
    "insert_of_nothing": Commits("", ["insert into {t} select 1, 'x' where false"]),
    "update_of_nothing": Commits(COW, ["update {t} set v = 'x' where id = 77"]),
    "merge_of_nothing": Commits(
        COW, ["merge into {t} t using (values (77) as s(id)) s on t.id = s.id when matched then delete"]
    ),
    "compaction": Commits("", [REWRITE]),
    "compaction_of_manifests": Commits("", [f"{PROCEDURE}rewrite_manifests('{{t}}')"]),
    "commit_on_a_branch": Commits("", ON_BRANCH),
    "tag_and_new_column": Commits("", ["alter table {t} create tag now", "alter table {t} add column w int"]),
}
REWRITES = {
    "update_copy_on_write": Commits(COW, ["update {t} set v = 'b2' where id = 2"]),
    "update_merge_on_read": Commits(MOR, ["update {t} set v = 'b2' where id = 2"]),
    "update_to_its_own_values": Commits(COW, ["update {t} set v = v"]),
    "delete_copy_on_write": Commits(COW, ["delete from {t} where id = 3"]),
    "delete_merge_on_read": Commits(MOR, ["delete from {t} where id = 3"]),
    "delete_of_whole_files": Commits(BY_V, ["delete from {t} where v = 'c'"]),
    "truncate": Commits("", ["truncate table {t}"]),
    "merge": Commits(
        MOR,
        [
            "merge into {t} t using (values (2, 'b2'), (3, null), (5, 'e') as s(id, v)) s on t.id = s.id "
            "when matched and s.v is null then delete when matched then update set * when not matched then insert *"
        ],
    ),
    "insert_overwrite": Commits(BY_V, [DYNAMIC, "insert overwrite {t} values (5, 'c')", STATIC]),
    "replayed_overwrite": Commits(
        f"{BY_V} {STAGED}",
        [
            "set spark.wap.id = w2",
            DYNAMIC,
            "insert overwrite {t} values (5, 'c')",
            STATIC,
            "reset spark.wap.id",
            "insert into {t} values (6, 'f')",
            f"{PROCEDURE}cherrypick_snapshot('{{t}}', {{staged}})",
        ],
    ),
    "rows_that_come_and_go": Commits(COW, ["insert into {t} values (5, 'e')", "delete from {t} where id = 5"]),
}
KINDS = {**NEW_ROWS, **NO_ROWS, **REWRITES}
UNSEEN = ("tag_and_new_column", "commit_on_a_branch")
"""Changes that affect no snapshot of main."""
APPENDED_BESIDE = {"replayed_overwrite": [(6, "f")], "rows_that_come_and_go": [(5, "e")]}
"""The rows that the append scan returns in addition to the marker, including rows that were deleted later."""
OF_ITS_OWN_ROWS = ("rows_that_come_and_go",)
"""Kinds that delete only rows that they have added."""
POLICIES = ("fail", "upserts", "ignore", "full_refresh")


def commit(shop, table, statements):
    for statement in statements:
        staged = None
        if "{staged}" in statement:
            found = f"select snapshot_id from {table}.snapshots where summary['wap.id'] is not null"
            ((staged,),) = shop.sql(found)
        shop.sql(statement.format(t=table, staged=staged))


@dataclass(frozen=True)
class Rows:
    """The rows of a source at its first read and after its commits, and the rows that were appended in between."""

    before: Counter[tuple[object, ...]]
    after: Counter[tuple[object, ...]]
    appended: Counter[tuple[object, ...]]


def models_of(kind):
    return {policy: f"{kind}__{policy}" for policy in (*POLICIES, "mirror")}


def sources_with_models(shop):
    """Create a source of each kind with models under every policy, and run these once; returns the rows by kind."""
    before = {}
    for kind, commits in KINDS.items():
        table = shop.source(kind, "id int, v string", commits.clauses)
        commit(shop, table, BASE)
        before[kind] = shop.rows(table, "id, v")
        for policy in POLICIES:
            shop.model(f"{kind}__{policy}", CHANGES.format(source=kind), on_source_rewrite=policy)
        shop.model(f"{kind}__mirror", MIRROR.format(source=kind), incremental_strategy="apply_changes", unique_key="id")
    shop.run()
    return before


def committed_to(shop, kind, before):
    """Run the statements of a kind. If the kind is a rewrite, append one more row."""
    table = shop.raw(kind)
    commit(shop, table, KINDS[kind].statements)
    appended = Counter()
    if kind in REWRITES:
        shop.sql(f"insert into {table} (id, v) values {MARKER}")
        appended = Counter([MARKER, *APPENDED_BESIDE.get(kind, ())])
    return Rows(before, shop.rows(table, "id, v"), appended)


def expected(kind, policy, rows):
    """The action of a run under a policy, and the rows of the model afterwards."""
    if kind in NO_ROWS:
        return "nothing" if kind in UNSEEN else "advance", rows.before
    of_rewrites = {
        "fail": ("error", rows.before),
        "ignore": ("apply", rows.before + rows.appended),
        "full_refresh": ("rebuild", rows.after),
    }
    if kind in OF_ITS_OWN_ROWS and policy == "fail":
        return "apply", rows.after
    if kind in REWRITES and policy in of_rewrites:
        return of_rewrites[policy]
    return "apply", rows.after if policy == "mirror" else rows.before + (rows.after - rows.before)


def outcome(shop, found, model):
    result = found.nodes[model]
    action = "error" if result.status == "error" else found.action(model)
    return action, shop.rows(shop.built(model))


@pytest.mark.thorough
def test_every_kind_of_commit_under_every_policy(shop):
    before = sources_with_models(shop)
    rows = {kind: committed_to(shop, kind, before[kind]) for kind in KINDS}
    found = shop.dbt("run")
    meant = {model: expected(kind, policy, rows[kind]) for kind in KINDS for policy, model in models_of(kind).items()}
    seen = {model: outcome(shop, found, model) for model in meant}
    wrong = {
        model: (seen[model], meant[model], str(found.message(model))[:300])
        for model in meant
        if seen[model] != meant[model]
    }
    assert wrong == {}
    again = shop.dbt("run")
    assert {again.message(model) for model, (action, _) in meant.items() if action != "error"} == {"NOTHING NEW"}


STRATEGIES = {
    "append": {"incremental_strategy": "append"},
    "merge": {"incremental_strategy": "merge", "unique_key": "id"},
    "insert_overwrite": {"incremental_strategy": "insert_overwrite", "partition_by": "v"},
}


@pytest.mark.core
def test_every_strategy_under_every_policy(shop):
    """One range with an update, a delete and an insert."""
    events = shop.source("events", "id int, v string", COW)
    commit(shop, events, BASE)
    for strategy, config in STRATEGIES.items():
        for policy in POLICIES:
            shop.model(f"{strategy}__{policy}", CHANGES.format(source="events"), on_source_rewrite=policy, **config)
    shop.model("audit", "select * from {{ ip_changelog(source('raw', 'events'), unique_key='id') }}")
    shop.run()
    first = shop.rows(events)
    commit(
        shop,
        events,
        ["update {t} set v = 'b2' where id = 2", "delete from {t} where id = 3", "insert into {t} values (5, 'c')"],
    )
    last = shop.rows(events)
    found = shop.dbt("run")
    new, changed = (5, "c"), (2, "b2")
    expected = {
        "append": {"upserts": first + Counter([new, changed]), "ignore": first + Counter([new])},
        "merge": {
            "upserts": first + Counter([new, changed]) - Counter([(2, "b")]),
            "ignore": first + Counter([new]),
        },
        # whole partitions: in partition c, only the rows that the model's SQL returns are left
        "insert_overwrite": {
            "upserts": Counter([(1, "a"), (2, "b"), changed, new]),
            "ignore": Counter([(1, "a"), (2, "b"), new]),
        },
    }
    for strategy in STRATEGIES:
        assert found.nodes[f"{strategy}__fail"].status == "error"
        assert shop.rows(shop.built(f"{strategy}__fail")) == first
        assert found.action(f"{strategy}__full_refresh") == "rebuild"
        assert shop.rows(shop.built(f"{strategy}__full_refresh")) == last
        for policy in ("upserts", "ignore"):
            assert found.action(f"{strategy}__{policy}") == "apply"
            assert shop.rows(shop.built(f"{strategy}__{policy}")) == expected[strategy][policy], (strategy, policy)
    assert shop.rows(shop.built("audit")) - Counter((*row, "INSERT") for row in first) == Counter(
        [(2, "b", "UPDATE_BEFORE"), (2, "b2", "UPDATE_AFTER"), (3, "c", "DELETE"), (5, "c", "INSERT")]
    )


def delete_by_equality(shop, table, id_):
    """Commit an equality delete of all rows with this id, as streaming writers do. Spark writes no such deletes.

    The delete file has the format of a data file of a table that has only the compared columns.
    """
    keys = shop.source(f"keys_{id_}", "id int")
    shop.insert(keys, f"({id_})")
    ((path, size),) = shop.sql(f"select file_path, file_size_in_bytes from {keys}.files")
    spark = shop.frame("select 1").sparkSession
    iceberg, gateway = spark._jvm.org.apache.iceberg, spark.sparkContext._gateway
    loaded = iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table.replace("`", ""))
    ids = gateway.new_array(gateway.jvm.int, 1)
    ids[0] = loaded.schema().findField("id").fieldId()
    deletes = iceberg.FileMetadata.deleteFileBuilder(loaded.spec()).ofEqualityDeletes(ids).withFormat("PARQUET")
    deletes = deletes.withPath(path).withFileSizeInBytes(size).withRecordCount(1).build()
    loaded.newRowDelta().addDeletes(deletes).commit()


@pytest.mark.parametrize("version", [2, 3])
def test_equality_deletes(shop, version):
    events = shop.source("events", "id int, v string", f"tblproperties ('format-version'='{version}')")
    commit(shop, events, BASE)
    shop.model("staged", CHANGES.format(source="events"))
    for policy in ("upserts", "ignore", "full_refresh"):
        shop.model(policy, CHANGES.format(source="events"), on_source_rewrite=policy)
    shop.model("mirror", MIRROR.format(source="events"), incremental_strategy="apply_changes", unique_key="id")
    shop.run()
    delete_by_equality(shop, events, 2)
    shop.insert(events, "(2, 'again')")
    delete_by_equality(shop, events, 3)
    assert shop.rows(events) == Counter([(1, "a"), (2, "again"), (4, "c")])
    assert "was rewritten since" in shop.fails()
    assert shop.rows(shop.built("mirror")) == shop.rows(events)
    assert shop.rows(shop.built("full_refresh")) == shop.rows(events)
    for policy in ("upserts", "ignore"):
        assert shop.rows(shop.built(policy)) == Counter([(1, "a"), (2, "b"), (3, "c"), (4, "c"), (2, "again")])
