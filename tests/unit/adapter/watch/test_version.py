"""When the project is parsed again, and which files and definitions count as changed."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from dbt.adapters.factory import load_plugin
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_iceberg.project.jinja import JinjaScope
from dbt.adapters.spark_iceberg.watch.due import Backoff
from dbt.adapters.spark_iceberg.watch.files import ProjectFiles, changed_definitions, definitions
from dbt.adapters.spark_iceberg.watch.version import Version, Versions, parsed_stamps


class Files:
    """Simulated project files, with counts of parses and of checks of the tables."""

    def __init__(self):
        self.now = {"a": (1, 1)}
        self.loads = 0
        self.error = None
        self.looks = 0
        self.look_error = None
        self.closed = 0

    def look(self):
        self.looks += 1
        if self.look_error:
            raise self.look_error

    def close(self):
        self.closed += 1

    def load(self):
        self.loads += 1
        if self.error:
            raise self.error
        return self.version()

    def version(self):
        return Version(self, None, None, stamps=lambda: self.now, parsed=dict(self.now), close=self.close)


def test_unchanged_files_are_not_parsed_again():
    files = Files()
    versions = Versions(files.version(), files.load, Backoff())
    assert [versions.newer(now) for now in range(3)] == [None] * 3
    files.now = {"a": (2, 1)}
    assert versions.newer(3) is None
    assert versions.newer(4) is versions.current
    assert [versions.newer(now) for now in range(5, 8)] == [None] * 3
    assert (files.loads, files.looks) == (1, 1)


@pytest.mark.parametrize("error", [DbtRuntimeError, OSError])
def test_a_failed_parse_is_retried_after_a_delay_or_a_change(error):
    files = Files()
    first = files.version()
    versions = Versions(first, files.load, Backoff(first=5))
    files.now, files.error = {}, error("no")
    loads = []
    for now in range(20):
        try:
            assert versions.newer(now) is None
        except error:
            loads.append(now)
    assert loads == [1, 6, 16]
    assert versions.current is first
    files.now, files.error = {"b": (1, 1)}, None
    assert [versions.newer(20), versions.newer(21)] == [None, versions.current]
    assert versions.current is not first


def test_a_version_whose_tables_cannot_be_read_is_closed():
    files = Files()
    versions = Versions(first := files.version(), files.load, Backoff())
    files.now, files.look_error = {}, DbtRuntimeError("out of reach")
    assert versions.newer(1) is None
    with pytest.raises(DbtRuntimeError):
        versions.newer(2)
    assert (versions.current, files.closed) == (first, 1)


def test_a_file_that_was_written_during_the_parse_is_parsed_again(tmp_path):
    before, during = tmp_path / "before.sql", tmp_path / "during.sql"
    for file in (before, during):
        file.write_text("select 1")
    os.utime(before, (1, 1))
    stamps = ProjectFiles(project(tmp_path, models="."), tmp_path).stamps
    assert parsed_stamps(stamps, time.time() - 60).keys() == {str(before)}
    assert stamps().keys() == {str(before), str(during)}


def project(folder, models="models"):
    load_plugin("spark_iceberg")
    root = SimpleNamespace(project_root=str(folder), all_source_paths=[models])
    return SimpleNamespace(credentials=SimpleNamespace(type="spark_iceberg"), load_dependencies=lambda: {"shop": root})


def test_the_files_of_a_project(tmp_path):
    for name in (
        "dbt_project.yml", "profiles.yml", "models/a.sql", "models/deep/b.yml", "models/.a.sql.swp",
        "models/.git/c.sql", "models/notes.txt", "target/run/a.sql",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    found = ProjectFiles(project(tmp_path), tmp_path).stamps()
    assert {os.path.relpath(path, tmp_path) for path in found} == {
        "dbt_project.yml", "profiles.yml", "models/a.sql", "models/deep/b.yml"
    }  # fmt: skip
    assert {size for _, size in found.values()} == {4}


def node(name, kind="model", **fields):
    return {
        "unique_id": name,
        "resource_type": kind,
        "original_file_path": f"{name}.csv",
        "root_path": "/shop",
        **fields,
    }


SCOPE = JinjaScope(
    {"outer": ["{% macro outer() %}{{ inner() }}{% endmacro %}"], "inner": ["{% macro inner() %}1{% endmacro %}"]},
    lambda package: {"region": "eu"},
)
OTHERS = {**SCOPE.macros, "inner": ["{% macro inner() %}2{% endmacro %}"]}
NODE = node(
    "a",
    raw_code="select {{ outer() }}, {{ var('region') }}",
    package_name="shop",
    config={},
    depends_on={"nodes": ["s"]},
)


def digests(stamps=None, scope=SCOPE, **nodes):
    return definitions({"nodes": nodes}, list(nodes), scope, stamps or {})


@pytest.mark.parametrize(
    ("after", "scope", "is_changed"),
    [
        (NODE, SCOPE, False),
        ({**NODE, "description": "documented", "created_at": 5}, SCOPE, False),
        ({**NODE, "raw_code": "select 2"}, SCOPE, True),
        ({**NODE, "config": {"materialized": "view"}}, SCOPE, True),
        (NODE, replace(SCOPE, macros=OTHERS), True),
        (NODE, replace(SCOPE, variables=lambda package: {"region": "us"}), True),
    ],
)
def test_which_edits_change_a_node(after, scope, is_changed):
    assert changed_definitions(digests(a=NODE), digests(a=after, scope=scope)) == ({"a"} if is_changed else set())


def test_changed_seed_files_and_new_nodes_count_as_changed():
    seed = node("s", "seed", checksum={"name": "path"}, config={}, package_name="shop")
    before = digests({"/shop/s.csv": (1, 5)}, s=seed)
    after = digests({"/shop/s.csv": (2, 5)}, s=seed, a=NODE)
    assert changed_definitions(before, after) == {"s", "a"}
    assert changed_definitions(after, before) == {"s"}
