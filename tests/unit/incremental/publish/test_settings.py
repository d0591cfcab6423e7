"""Which session settings are refused. The docs list all tested and refused settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from iceberg_incremental.explain import model_errors
from iceberg_incremental.plan.session_settings import REFUSED, needed_by, refused_in
from iceberg_incremental.write.auto.read_alike import PREFIXES, RECORDED
from tests.session_settings import HOLDS, HOLDS_UNDER_ANSI, SET

_FOLDER = Path(__file__).parents[4] / "docs"
DOCS = (_FOLDER / "limits.md").read_text(encoding="utf-8")
PLAIN_SQL = (_FOLDER / "plain-sql.md").read_text(encoding="utf-8")
ESCAPED = "spark.sql.parser.escapedStringLiterals"


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        ({}, []),
        ({ESCAPED: "false"}, []),
        ({ESCAPED: "TRUE"}, [ESCAPED]),
        ({"spark.sql.storeAssignmentPolicy": "ANSI"}, []),
        ({"spark.sql.storeAssignmentPolicy": "Legacy"}, ["spark.sql.storeAssignmentPolicy"]),
        ({"spark.wap.id": "x", "spark.wap.branch": "b"}, ["spark.wap.id", "spark.wap.branch"]),
        ({"spark.sql.iceberg.snapshot-property.team": "x"}, []),
        ({"spark.sql.iceberg.snapshot-property.ip.checkpoint": "x"},
         ["spark.sql.iceberg.snapshot-property.ip.checkpoint"]),
    ],
)  # fmt: skip
def test_refused(settings, refused):
    assert [each.key for each, _ in refused_in(settings)] == refused


def test_other_models_may_use_settings_that_only_affect_incremental_processing():
    assert refused_in({"spark.wap.branch": "audit"}, everywhere=True) == []
    assert [each.key for each, _ in refused_in({ESCAPED: "true"}, everywhere=True)] == [ESCAPED]


def test_the_error_names_the_setting_its_values_and_its_origin():
    found = refused_in({ESCAPED: "true", "spark.wap.id": "x"})
    said = str(model_errors.refused_settings("model.shop.staged", found))
    for part in (f"{ESCAPED}: false, since", f"{ESCAPED} = true", "spark.wap.id = x", "server_side_parameters", "hook"):
        assert part in said


@pytest.mark.parametrize("key", [*HOLDS, *HOLDS_UNDER_ANSI, *SET, *(each.key for each in REFUSED)])
def test_the_docs_name_each_setting(key):
    prefixes = ("spark.sql.iceberg.snapshot-property.", "spark.sql.iceberg.")
    short = next((key.removeprefix(prefix) for prefix in prefixes if key.startswith(prefix)), key)
    assert f"`{short}`" in DOCS or f"`{key}`" in DOCS


def test_the_docs_list_the_settings_that_an_auto_model_records():
    _, _, rest = PLAIN_SQL.partition("- A setting of the Spark session that affects values")
    listed, _, _ = rest.partition("\n- ")
    assert sorted(re.findall(r"`(spark\.[\w.]+)`", listed)) == sorted([*RECORDED, *PREFIXES])


@pytest.mark.parametrize("key", RECORDED)
def test_statements_are_tested_with_other_values_of_recorded_settings(key):
    assert key in {**HOLDS, **HOLDS_UNDER_ANSI}


def test_only_insert_overwrite_needs_a_setting():
    assert needed_by("insert_overwrite") == {"spark.sql.sources.partitionOverwriteMode": "dynamic"}
    assert [needed_by(strategy) for strategy in ("append", "merge", "delete+insert")] == [{}, {}, {}]
