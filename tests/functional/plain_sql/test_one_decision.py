"""What a run does, its result, and what every preview and report says of it are the same, for each action."""

from __future__ import annotations

import json

import pytest

from ..incremental.shop import CATALOG
from ..watch.watching import pending
from .test_explain import explained

NO_JAVA = {"JAVA_HOME": "/nonexistent", "PATH": "/nonexistent"}
MERGED = {"incremental_strategy": "merge", "unique_key": "id"}
KEYS = {"rebuild_above": 1}
NOT_KEPT = {"on_not_incremental": "full_refresh"}
SOURCES = (
    "still",
    "moved",
    "gained",
    "changed",
    "altered",
    "swapped",
    "rolled",
    "viewed",
    "edited",
    "taken",
    "emptied",
    "kept",
    "table_first",
)
VIEWS = ("a_view", "outer_view", "other_view", "view_first")
AUTO = {
    "still_copy": ("select id, v from {still}", {}),
    "moved_copy": ("select id, v from {moved}", {}),
    "gained_copy": ("select id, v from {gained}", {}),
    "affected": ("select v, count(*) as n, max(id) as id from {changed} group by v", KEYS),
    "by_cost": ("select id, v from {changed}", {}),
    "altered_copy": ("select id, v from {altered}", {}),
    "rolled_copy": ("select id, v from {rolled}", {"on_history_break": {"rolled_back": "full_refresh"}}),
    "of_view": ("select id, v from {a_view}", {}),
    "of_nested_view": ("select id, v from {outer_view}", KEYS),
    "of_other_view": ("select id, v from {other_view}", {}),
    "of_former_view": ("select id, v from {view_first}", {}),
    "of_former_table": ("select id, v from {table_first}", {}),
    "swapped_copy": ("select id, v from {swapped}", {}),
    "edited_copy": ("select id, v from {edited}", {}),
    "unknown": ("select id, v from {still} where id > (select min(id) from {raw}.rolled)", NOT_KEPT),
}
ACTIONS = {
    "still_copy": ("nothing", None),
    "moved_copy": ("advance", None),
    "gained_copy": ("apply", "append"),
    "affected": ("apply", "replace_keys"),
    "by_cost": ("apply", "replace_all"),
    "altered_copy": ("apply", "replace_all"),
    "rolled_copy": ("rebuild", None),
    "of_view": ("apply", "replace_all"),
    "of_nested_view": ("apply", "replace_all"),
    "of_other_view": ("apply", "replace_all"),
    "of_former_view": ("apply", "replace_all"),
    "of_former_table": ("apply", "replace_all"),
    "swapped_copy": ("nothing", None),  # as docs/guarantees.md states
    "edited_copy": ("rebuild", None),
    "unknown": ("apply", "replace_all"),
    "merged": ("check_only", None),
    "versions": ("rebuild", None),
    "taken_s": ("apply", "changed keys"),
    "edited_s": ("apply", "whole tables"),
    "emptied_s": ("apply", "whole tables"),
    "still_s": ("nothing", None),
    "table_first_s": ("apply", "whole tables"),
}
CASES = [("v", ("rebuild", None)), ("upper(v)", ("apply", "replace_all")), ("upper(v)", ("nothing", None))]
"""The definitions of a view, and the action of the run that follows."""
IDLE = ("nothing", "check_only")
MESSAGES = {"nothing": "NOTHING NEW", "advance": "NOTHING NEW, checkpoint moved", "check_only": "OK, nothing written"}


class Project:
    def __init__(self, shop):
        self.shop = shop
        self.tables = {name: shop.source(name) for name in SOURCES}
        for table in self.tables.values():
            shop.insert(table, "(1, 'a')", "(2, 'b')")
        self.views("v")
        for name in ("other_view", "view_first"):
            self.view(name, "viewed")
        shop.declare(*VIEWS)
        for name, (sql, config) in AUTO.items():
            self.auto(name, sql, **config)
        self.merged("v")
        history = {"incremental_strategy": "history", "unique_key": "id"}
        rolled = {"on_history_break": {"rolled_back": "full_refresh"}}
        shop.model("versions", "select * from {{ ip_changelog(source('raw', 'kept')) }}", **history, **rolled)
        for name in ("taken", "edited", "emptied", "still", "table_first"):
            self.snapshot(name)

    def auto(self, name, sql, **config):
        named = {each: f"{{{{ source('raw', '{each}') }}}}" for each in (*SOURCES, *VIEWS)}
        text = sql.format(**named, raw=f"{CATALOG}.{self.shop.source_schema}")
        self.shop.model(name, text, incremental_strategy="auto", **config)

    def merged(self, value):
        sql = f"select id, {value} as v from {{{{ ip_changes(source('raw', 'still')) }}}}"
        self.shop.model("merged", sql, **MERGED)

    def snapshot(self, source, columns="*"):
        config = "unique_key='id', strategy='check', check_cols='all', hard_deletes='invalidate'"
        text = f"{{{{ config({config}) }}}}\nselect {columns} from {{{{ source('raw', '{source}') }}}}"
        self.shop.write(f"snapshots/{source}_s.sql", f"{{% snapshot {source}_s %}}\n{text}\n{{% endsnapshot %}}\n")

    def views(self, value):
        raw = self.shop.raw
        self.shop.sql(f"create or replace view {raw('a_view')} as select id, {value} as v from {raw('viewed')}")
        self.shop.sql(f"create or replace view {raw('outer_view')} as select id, v from {raw('a_view')} where id > 0")

    def view(self, name, source):
        self.shop.sql(f"create or replace view {self.shop.raw(name)} as select id, v from {self.tables[source]}")

    def change(self):
        shop, raw = self.shop, self.tables
        plain = {name: f"{shop.source_schema}.{name}" for name in SOURCES}
        compact = f"call {CATALOG}.system.rewrite_data_files(table => '{{}}', options => map('rewrite-all', 'true'))"
        roll_back = f"call {CATALOG}.system.rollback_to_snapshot('{{}}', {{}})"
        for name in ("rolled", "kept"):
            first, *_ = (each for each, _, _ in shop.snapshots(raw[name]))
            shop.sql(roll_back.format(plain[name], first))
        shop.sql(compact.format(plain["moved"]))
        shop.insert(raw["gained"], "(3, 'c')")
        shop.sql(f"update {raw['changed']} set v = 'b' where id = 1")
        shop.sql(f"alter table {raw['altered']} drop column v")
        shop.sql(f"alter table {raw['altered']} add column v string")
        shop.sql(compact.format(plain["altered"]))
        for old, new in (("id", "other"), ("v", "id"), ("other", "v")):
            shop.sql(f"alter table {raw['swapped']} rename column {old} to {new}")
        self.views("upper(v)")
        self.view("other_view", "still")
        shop.sql(f"drop view {shop.raw('view_first')}")
        shop.sql(f"create table {shop.raw('view_first')} using iceberg as select id, v from {raw['still']}")
        shop.sql(f"drop table {raw['table_first']}")
        self.view("table_first", "still")
        self.auto("edited_copy", "select id, upper(v) as v from {edited}")
        self.merged("upper(v)")
        shop.sql(f"update {raw['taken']} set v = 'z' where id = 1")
        self.snapshot("edited", "id, upper(v) as v")
        shop.sql(f"delete from {raw['emptied']}")
        shop.sql(f"update {shop.built('emptied_s')} set v = 'y' where id = 1")


@pytest.mark.thorough
def test_what_a_run_does_and_what_is_said_of_it(shop):
    project = Project(shop)
    for name in ("rolled", "kept"):
        shop.insert(project.tables[name], "(3, 'c')")
    expected = dict.fromkeys(ACTIONS, ("rebuild", None))
    require_agreement(shop, {name: each for name, each in expected.items() if not name.endswith("_s")}, expected)
    project.change()
    require_agreement(shop, ACTIONS, ACTIONS)
    quiet = dict.fromkeys(ACTIONS, ("nothing", None))
    quiet |= {"merged": ("check_only", None), "unknown": ("apply", "replace_all")}
    require_agreement(shop, quiet, quiet)
    shop.configure({"spark.sql.session.timeZone": "Asia/Tokyo"})
    for name in ("changed", "gained"):
        shop.insert(project.tables[name], "(9, 'x')")
    settings = quiet | dict.fromkeys(("gained_copy", "affected", "by_cost"), ("apply", "replace_all"))
    # metadata does not show the session settings of a snapshot's last run, as docs/history.md states
    whole = {name: ("apply", "whole tables") for name in quiet if name.endswith("_s")}
    require_agreement(shop, settings, settings | whole)


def test_a_view_that_is_replaced(shop):
    """All rows are replaced, although no table has a new commit."""
    table, view = shop.source("viewed"), shop.raw("a_view")
    shop.insert(table, "(1, 'a')", "(2, 'b')")
    shop.sql(f"create view {view} as select id, v from {table}")
    shop.declare("a_view")
    shop.model("of_view", "select id, v from {{ source('raw', 'a_view') }}", incremental_strategy="auto")
    for value, action in CASES:
        shop.sql(f"create or replace view {view} as select id, {value} as v from {table}")
        require_agreement(shop, {"of_view": action}, {"of_view": action})
    assert shop.rows(shop.built("of_view")) == {(1, "A"): 1, (2, "B"): 1}


def require_agreement(shop, previewed, expected):
    """Compare all previews and reports of the next run. ``previewed``: without snapshots that have no checkpoint."""
    statuses, explanations = shop.statuses(), explained(shop)
    actions = {name: each for name, (each, _) in previewed.items()}
    assert {name: statuses[name]["action"] for name in previewed} == actions
    plans = {name: explanations[name]["next_run"] for name in expected if name in AUTO}
    assert {name: (each["action"], each["way"]) for name, each in plans.items()} == {
        name: expected[name] for name in plans
    }
    due = json.loads(pending(shop.folder, "--output", "json", **NO_JAVA).stdout)
    known = {name for name in previewed if not name.endswith("_s")}
    repeated = {name for name in known if statuses[name]["is_repeated"]}
    assert {each.rpartition(".")[2] for each in due["due"]} == {
        name for name in known - repeated if actions[name] not in IDLE
    }
    assert {each["model"].rpartition(".")[2]: each["action"] for each in due["models"]} == {
        name: actions[name] for name in known
    }
    page = shop.folder / "page.html"
    shop.operation("ip_status", format="html", output=str(page))
    shown = page.read_text(encoding="utf-8")
    for name, (action, _) in previewed.items():
        words = {"nothing": "nothing to do", "advance": "moves the checkpoint only"}.get(action, "")
        assert words in statuses[name]["next_run"] and f"next run: {statuses[name]['next_run'][:20]}" in shown

    epochs = {name: statuses.get(name, {"epoch": 0})["epoch"] for name in expected}
    found = shop.dbt("build", "--exclude", "resource_type:test")
    assert found.success, found.printed[-3000:]
    codes = {name: found.nodes[name].adapter_response["code"] for name in expected}
    assert codes == {name: action for name, (action, _) in expected.items()}
    results = {each["unique_id"].rpartition(".")[2]: each for each in shop.run_results()["results"]}
    assert {name: results[name]["adapter_response"]["code"] for name in expected} == codes
    after = shop.statuses()
    for name, (action, way) in expected.items():
        message, rows = found.message(name), results[name]["adapter_response"]["rows_affected"]
        assert message == MESSAGES.get(action, f"OK {rows:,} row{'' if rows == 1 else 's'}"), (name, message)
        assert after[name]["epoch"] == epochs[name] + (action not in IDLE), name
        if action not in IDLE:
            (read, *_) = after[name]["runs"][-1]["sources"]
            is_whole = action == "rebuild" or way in ("replace_all", "whole tables")
            assert (read["kind"] == "whole") is is_whole, (name, read)
        if way is not None and name in AUTO:
            assert results[name]["adapter_response"]["ip"]["way"] == way, name
