"""The models in the docs: each is built and updated, and then equals its rebuild.

The models and snapshots that pages show as `before` run too, and Spark parses all SQL of the pages.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.website import sql

from .shop import Shop

ROOT = Path(__file__).parents[3]
PAGES = [
    "README.md",
    *(f"docs/{page}.md" for page in ("plain-sql", "patterns", "history", "python-models", "migration")),
]
AUTO = "{{ config(materialized='iceberg_incremental_snapshot', incremental_strategy='auto') }}\n"
RELATION = re.compile(r"""(?:source\(['"](?P<source>\w+)['"], |ref\()['"](?P<name>\w+)['"]\)""")
BLOCK = re.compile(r"^```(?:sql|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

FLIGHT = "id as flight_id, if(id % 2 = 0, 'AA', 'UA') as carrier, concat('A', id) as gate"
TIME = "timestamp '2026-01-01' + make_interval(0, 0, 0, int(id % 5), 0, 0, 0)"
STAGED = f"{FLIGHT}, to_date({TIME}) as flight_day, int(id % 7) as arr_delay, {TIME} as updated_at"
EVENT = f"id as event_id, to_date({TIME}) as event_date"
CUSTOMER = "id as customer_id, id, concat('n', id) as name, if(id % 2 = 0, 'north', 'south') as region"
LOGGED = f"{CUSTOMER}, concat('m', id) as email, {TIME} as changed_at, 'INSERT' as operation"
ORDER = f"id as order_id, id, id % 10 as customer_id, 9.50bd as amount, to_date({TIME}) as ordered_on"
SOURCES = {
    "ops_flights": f"{FLIGHT}, {TIME} as sched_dep, {TIME} as landed_at, {TIME} as event_time",
    "flights": STAGED,
    "flights_latest": STAGED,
    "flights_staged": STAGED,
    "ops_carriers": "if(id % 2 = 0, 'AA', 'UA') as carrier, concat('n', id) as name",
    "carriers": "if(id % 2 = 0, 'AA', 'UA') as carrier, concat('n', id) as carrier_name",
    "events": f"{EVENT}, id % 10 as account_id, id % 3 as title_id, id % 60 as seconds",
    "plays": EVENT,
    "ads": f"{EVENT}, id % 3 as ad_id",
    "orders": ORDER,
    "raw_orders": ORDER,
    "cdc_orders": f"{ORDER}, 'paid' as status, {TIME} as committed_at, id as log_position, 'c' as op",
    "customers": CUSTOMER,
    "raw_customers": CUSTOMER,
    "cdc_customers": LOGGED,
    "customers_cdc": LOGGED,
}
"""The tables that the models read. Their columns are computed from an ``id``."""


def documented() -> dict[str, str]:
    """The models by file name. A block may show a model before and after a change."""
    found: dict[str, str] = {}
    for page in PAGES:
        for block in BLOCK.findall((ROOT / page).read_text("utf-8")):
            for part in re.split(r"^-- (?:before|after|right)\b.*\n", block, flags=re.MULTILINE):
                text = AUTO + part if page.endswith("plain-sql.md") and "config(" not in part else part
                is_python = text.startswith("def model")
                if is_python or ("'iceberg_incremental_snapshot'" in text and "select" in text):
                    name = f"{Path(page).stem.lower().replace('-', '_')}_{len(found)}"
                    found[f"{name}.py" if is_python else f"{name}.sql"] = text
    return found


def replaced() -> dict[str, str]:
    """dbt's incremental models and snapshots in the docs, by file, without those that only run on Databricks."""
    parts = [part for part in sql.parts() if "table_changes(" not in part.text]
    models = {f"models/{part.name}.sql": part.text for part in parts if "materialized='incremental'" in part.text}
    return models | {f"snapshots/{part.name}.sql": part.text for part in parts if part.folder == "snapshots"}


def of_a_source(relation: re.Match[str]) -> str:
    return f"source('raw', '{'_'.join(filter(None, relation.groups()))}')"


@pytest.mark.thorough
def test_the_models_of_the_pages(shop: Shop):
    for name, columns in SOURCES.items():
        shop.sql(f"create table {shop.raw(name)} using iceberg as select {columns} from range(2)")
    shop.declare(*SOURCES)
    shop.declare("flights", config={"event_time": "flight_day"})
    models = {Path(file).stem for file in documented()}
    for file, text in {**{f"models/{file}": text for file, text in documented().items()}, **replaced()}.items():
        shop.write(file, RELATION.sub(of_a_source, text))
    by_batch = ("config.incremental_strategy:microbatch", "--event-time-start", "2026-01-01", "--event-time-end")
    shop.run("--exclude", by_batch[0])
    shop.run("--select", *by_batch, "2026-01-03")
    assert shop.dbt("snapshot").success
    for name, columns in SOURCES.items():
        if "carriers" not in name:
            shop.sql(f"insert into {shop.raw(name)} select {columns} from range(2, 40)")

    updated = shop.run("--exclude", by_batch[0])
    again = [shop.run("--select", *by_batch, "2026-01-05"), shop.dbt("snapshot")]

    assert {updated.ip(name)["epoch"] for name in models} == {2}
    results = {name: each["result"] for name, each in shop.verified().items()}
    assert results.keys() == models
    assert set(results.values()) <= {"equal", "equal_but_rounding", "equal_in_part"}, results
    ran = updated.nodes.keys() | again[0].nodes.keys() | again[1].nodes.keys()
    assert len(ran - models) == len(replaced()) > 3
    for outcome in again:
        assert outcome.success and {str(node.status) for node in outcome.nodes.values()} == {"success"}


def test_spark_parses_the_sql_of_the_pages(shop: Shop):
    """Spark uses Iceberg's extension. It cannot parse QUALIFY, which the package rewrites."""
    parser = shop.session._jsparkSession.sessionState().sqlParser()
    parsed = [
        parser.parsePlan(statement)
        for part in sql.parts()
        if part.folder != "macros"
        for text in sql.rendered(part)
        for statement in filter(str.strip, text.split(";"))
    ]
    assert len(parsed) > 40
