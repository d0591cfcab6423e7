"""The guide to CI: its profile, commands, workflow and macro, exactly as the page shows them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.functional.first_hour.project import dbt, write

PAGE = (Path(__file__).parents[3] / "docs" / "clones.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("\n## Test a pull request\n")[2]
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)
(COMMANDS,) = [text for language, text in BLOCKS if language == "bash"]
PROFILES, WORKFLOW = (
    yaml.safe_load(text.replace("…", "warehouse: lakehouse")) for language, text in BLOCKS if language == "yaml"
)
(MACRO,) = [text for language, text in BLOCKS if language == "sql" and "macro" in text]
KEPT = "materialized='iceberg_incremental_snapshot'"
MODELS = {
    "arrivals.sql": """{{ config(materialized='incremental') }}
        select {{ var('id') }} as id, 10 * {{ var('id') }} as amount""",
    "orders.sql": f"""{{{{ config({KEPT}, incremental_strategy='merge', unique_key='id') }}}}
        select id, amount from {{{{ ip_changes(ref('arrivals')) }}}}""",
    "order_days.sql": f"""{{{{ config({KEPT}, incremental_strategy='auto') }}}}
        select id % 2 as day, sum(amount) as amount from {{{{ ref('orders') }}}} group by 1""",
}
INSTALLED = "pip install"
FETCH = "#!/bin/sh\nmkdir -p $1 && cp ../prod/manifest.json $1/\n"


def steps(job: str) -> list[str]:
    """The commands that a job of the workflow runs after the installation."""
    commands = [str(step["run"]) for step in WORKFLOW["jobs"][job]["steps"] if "run" in step]
    assert commands[0].startswith(INSTALLED)
    return commands[1:]


def shell(project: Path, commands: str, number: int) -> str:
    """Run commands in the same way as GitHub's runners."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PR_NUMBER": str(number)}
    outcome = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", commands],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return outcome.stdout


def rows(project: Path, target: str, model: str) -> list[dict[str, Any]]:
    query = f"select * from {{{{ ref('{model}') }}}} order by 1"
    command = ("--quiet", "show", "--target", target, "--inline", query, "--output", "json")
    shown = dbt(project, *command, PR_NUMBER="6")
    found: list[dict[str, Any]] = json.loads(shown[shown.index("{") :])["show"]
    return found


@pytest.mark.thorough
def test_the_commands_and_the_workflow(tmp_path: Path) -> None:
    project = write(tmp_path / "project", MODELS, {})
    (project / "profiles.yml").write_text(yaml.safe_dump(PROFILES))
    (project / "macros").mkdir()
    (project / "macros" / "drop_pull_request.sql").write_text(MACRO)
    fetch = project / "fetch-prod-artifacts"
    fetch.write_text(FETCH)
    fetch.chmod(0o755)
    dbt(project, "run", "--vars", "{id: 1}")
    (tmp_path / "prod").mkdir()
    (project / "target" / "manifest.json").rename(tmp_path / "prod" / "manifest.json")
    dbt(project, "run", "--select", "arrivals", "--vars", "{id: 2}")
    edited = MODELS["orders.sql"] + " where id is not null"
    (project / "models" / "orders.sql").write_text(edited)
    (project / "dbt_project.yml").write_text(yaml.safe_dump({"name": "shop", "profile": "shop", "vars": {"id": 3}}))

    shell(project, "./fetch-prod-artifacts prod-artifacts", 6)
    said = shell(project, COMMANDS, 6)
    assert "2 equal" in said
    assert rows(project, "ci", "orders") == [{"id": 1, "amount": 10}, {"id": 2, "amount": 20}]

    *_, verified = [shell(project, command, 7) for command in steps("build")]
    assert "model.shop.orders" in verified and "model.shop.order_days" in verified and "2 equal" in verified
    shell(project, "\n".join(steps("drop")), 7)
    listed = {path.name for path in (project / "lakehouse").iterdir() if path.is_dir()}
    assert "pr_7" in listed, "the files stay; their tables are gone"
    assert rows(project, "prod", "orders") == [{"id": 1, "amount": 10}]
