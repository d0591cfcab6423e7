"""docs/erase.md: after its commands, no file of any table contains the erased row, and all models continue."""

from __future__ import annotations

import re
import shlex
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from .shop import CATALOG, Shop

PAGE = (Path(__file__).parents[3] / "docs" / "erase.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(bash|sql)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SECRET = "Zoë Quillfeather"
CUSTOMERS = "select customer_id, name from {{ source('raw', 'customers') }}"
MIRROR = "select * from {{ ip_changelog(source('raw', 'customers'), unique_key='customer_id') }}"
LOG = "select customer_id, name, s, _change_type from {{ ip_changes(source('raw', 'customers_log')) }}"
KEY = {"unique_key": "customer_id"}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "customers_plain": (CUSTOMERS, {"incremental_strategy": "auto", "rebuild_above": 1}),
    "customers_mirror": (MIRROR, {"incremental_strategy": "apply_changes", "hold_source": "14 days", **KEY}),
    "customers_history": (MIRROR, {"incremental_strategy": "history", **KEY}),
    "customers_landed": ("select customer_id, name from {{ ip_changes(source('raw', 'customers')) }}", {}),
    "customers_latest": (LOG, {"incremental_strategy": "apply_changes", "sequence_by": "s", **KEY}),
    "customers_log_history": (LOG, {"incremental_strategy": "history", "sequence_by": "s", **KEY}),
}
SOURCES = ("customers", "customers_log")
WITH_DELETIONS = ("customers_latest", "customers_log_history")


def steps() -> dict[str, list[tuple[str, str]]]:
    """The commands of the page by the number of their step, each with its language."""
    numbered = re.split(r"^## (\d)\. .*$", PAGE, flags=re.MULTILINE)[1:]
    return {number: BLOCK.findall(text) for number, text in zip(numbered[::2], numbered[1::2], strict=True)}


class Guide:
    """Follows the page in a project. The page names one table of each kind, and its text says for which it holds."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.steps = steps()

    def folder(self, schema: str) -> str:
        return {"raw": self.shop.source_schema, "analytics": self.shop.schema, "pr_123": f"{self.shop.schema}_pr"}[
            schema
        ]

    def tables(self) -> list[str]:
        models = [*MODELS, *(f"{name}__ip_deleted" for name in WITH_DELETIONS)]
        return [*(f"raw.{name}" for name in SOURCES), *(f"analytics.{name}" for name in models)]

    def sql(self, statement: str, table: str | None = None) -> list[tuple[Any, ...]]:
        """Execute a statement of the page, also in place of its table for another one."""
        text = statement if table is None else re.sub(r"\braw\.customers\b", table, statement)
        for schema in ("raw", "analytics", "pr_123"):
            text = re.sub(rf"\b{schema}\.", f"{self.folder(schema)}.", text)
        return self.shop.sql(re.sub(r"\blake\b", CATALOG, text))

    def bash(self, script: str, *, fails: bool = False) -> None:
        for line in script.splitlines():
            found = self.shop.dbt(*shlex.split(line)[1:])
            assert fails or found.success, found.printed[-3000:]

    def block(self, step: str, place: int) -> str:
        return self.steps[step][place][1]


def content(file: Path) -> bytes:
    """The content of a file as text, without compression: rows of data files, and blocks of manifests."""
    if file.suffix == ".parquet":
        return str(pyarrow.parquet.ParquetFile(file).read().to_pylist()).encode()
    data = file.read_bytes()
    if file.suffix != ".avro":
        return data
    _, *blocks, _ = data.split(data[-16:])  # the blocks end with the mark that also ends the header
    return b"".join(zlib.decompress(after_numbers(block), -zlib.MAX_WBITS) for block in blocks)


def after_numbers(block: bytes) -> bytes:
    """The data of a block, which follow its number of rows and its size."""
    place = 0
    for _ in range(2):
        while block[place] & 0x80:
            place += 1
        place += 1
    return block[place:]


def files_with(folders: Sequence[Path], value: str) -> list[Path]:
    """The files in these folders that contain a value, or the first characters of it, which manifests store."""
    files = [each for folder in folders for each in folder.rglob("*") if each.suffix in (".parquet", ".avro", ".json")]
    return [file for file in files if value[:8].encode() in content(file)]


@pytest.fixture
def guide(shop: Shop) -> Guide:
    """Models of all kinds that hold the row, in several snapshots, with a clone and a branch that a run left."""
    layout = "tblproperties ('format-version'='3', 'write.delete.mode'='merge-on-read')"
    customers = shop.source("customers", "customer_id int, name string", layout)
    log = shop.source("customers_log", "customer_id int, name string, s int, _change_type string", layout)
    for name, (sql, config) in MODELS.items():
        shop.model(name, sql, **config)
    shop.insert(customers, "(1, 'Ann')", f"(7, '{SECRET}')", "(8, 'Bo')")
    shop.insert(log, "(1, 'Ann', 1, 'INSERT')", f"(7, '{SECRET}', 1, 'INSERT')", "(8, 'Bo', 1, 'INSERT')")
    shop.run()
    shop.sql(f"update {customers} set name = concat(name, ' II') where customer_id in (7, 8)")
    shop.insert(log, f"(7, '{SECRET} II', 3, 'INSERT')", "(1, 'Ann', 2, 'DELETE')", f"(7, '{SECRET}', 2, 'DELETE')")
    shop.run("--full-refresh", "--select", "customers_landed")
    shop.run()
    assert shop.operation("ip_clone_source", source="customers", schema=f"{shop.schema}_pr").success
    shop.sql(f"alter table {shop.built('customers_mirror')} create branch ip_1_5e0c6ab1f2d3")
    return Guide(shop)


@pytest.mark.core
def test_no_file_contains_an_erased_row(guide: Guide):
    shop = guide.shop
    warehouse = Path(str(shop.sql(f"select file_path from {shop.raw('customers')}.files")[0][0]).removeprefix("file:"))
    folders = [warehouse.parents[3] / guide.folder(schema) for schema in ("raw", "analytics", "pr_123")]
    assert {file.suffix for file in files_with(folders, SECRET)} >= {".parquet", ".avro"}

    guide.bash(guide.block("1", 0))
    for name in SOURCES:
        guide.sql(guide.block("1", 1), f"raw.{name}")
    guide.bash(guide.block("1", 2), fails=True)  # the models that read ip_changes fail until they are rebuilt

    guide.bash(guide.block("2", 0))
    guide.sql(guide.block("2", 1))

    for table in guide.tables():
        guide.sql(guide.block("3", 0), table)
        guide.sql(guide.block("3", 1), table)
    guide.bash(guide.block("3", 2))

    before = {
        each: [row[0] for row in guide.sql(guide.block("4", 0), each) if row[0] != "main"] for each in guide.tables()
    }
    guide.sql(guide.block("4", 1))
    (clone,) = [name for name in before["raw.customers"] if name.startswith("ip_cloned_by")]
    (held,) = [name for name in before["raw.customers"] if name.startswith("ip_held_by")]
    shop.sql(f"alter table {shop.raw('customers')} drop branch `{clone}`")
    assert "ip_1_5e0c6ab1f2d3" not in before["analytics.customers_mirror"]

    for table in guide.tables():
        guide.sql(guide.block("5", 0), table)
    assert [str(file.relative_to(warehouse.parents[3])) for file in files_with(folders, SECRET)] == []
    for table in guide.tables():
        files = guide.sql(guide.block("5", 1), table)
        assert files or table.endswith("ip_deleted")

    assert held in shop.branches(shop.raw("customers"))
    shop.insert(shop.raw("customers"), "(9, 'Cy')")
    shop.insert(shop.raw("customers_log"), "(9, 'Cy', 1, 'INSERT')")
    done = shop.run()
    assert {name: done.action(name) for name in MODELS} == dict.fromkeys(MODELS, "apply")
    for name in MODELS:
        names = {row[0] for row in shop.sql(f"select name from {shop.built(name)}")}
        assert "Cy" in names and not any(SECRET in each for each in names)
