"""Tiny runs of the benchmarks of plain SQL. Each has its own process, for Spark's event log."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.plain_sql_pipeline.pipeline import BY_HAND_MODELS, MODELS

pytestmark = pytest.mark.thorough


def printed(*arguments: str) -> str:
    """The output of a benchmark. If a table does not equal its rebuild, the output is only an error."""
    ran = subprocess.run(
        [sys.executable, "-m", *arguments, "--rounds", "1"],
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    return ran.stdout


def test_queries_of_tpch_are_exact_in_both_ways():
    found = printed("benchmarks.plain_sql_tpch", "--scale", "0.01", "--queries", "q01", "q02", "q18")
    for query in ("q01", "q02", "q18"):
        assert f"| {query} |" in found
    assert "| q18 | " in found.partition("The choice by cost")[2]


def test_a_pipeline_is_exact_and_its_models_have_figures():
    found = printed("benchmarks.plain_sql_pipeline", "--rows", "20000")
    for name in MODELS:
        assert f"| {name} |" in found
    by_hand = found.partition("The same models by hand")[2]
    assert all(f"| {name} |" in by_hand for name in BY_HAND_MODELS)
