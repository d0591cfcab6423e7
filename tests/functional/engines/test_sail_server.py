"""Sail's Spark Connect server as the server of `method: connect`: what it executes, and what dbt reports."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ..first_hour.project import dbt, write
from .outcomes import ON_SAIL
from .process import Engine, EngineError

pytestmark = pytest.mark.nightly


def test_statements_of_a_run(engines: Callable[[str], Engine], tmp_path: Path) -> None:
    sail = engines("sail")
    for statement, refused in ON_SAIL.items():
        sql = statement.format("server_table", tmp_path / "server_table")
        if refused:
            with pytest.raises(EngineError, match=re.escape(refused)):
                sail.ask("sql", statement=sql)
        else:
            sail.ask("sql", statement=sql)
    assert sail.ask("sql", statement="select * from server_table order by id") == [["1", "a"], ["2", "c"]]


def test_dbt_names_what_the_server_lacks(engines: Callable[[str], Engine], tmp_path: Path) -> None:
    port = engines("sail").ask("started")
    profile = {"method": "connect", "host": "localhost", "port": port, "catalog": "sail"}
    project = write(tmp_path, {"one.sql": "select 1 as id"}, profile)

    assert "The catalog `sail` is not configured in Spark." in dbt(project, "debug", "--connection", succeeds=False)
