"""A new user's dbt project. Each dbt command runs in its own process, and so has its own Spark, as for this user."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

DBT = (sys.executable, "-m", "dbt.cli.main", "--no-use-colors", "--no-send-anonymous-usage-stats")
WAREHOUSE = {"warehouse": "lakehouse"}


def write(folder: Path, models: Mapping[str, str], profile: Mapping[str, Any]) -> Path:
    """Write a project with models and a profile."""
    output = {"type": "spark_iceberg", "schema": "analytics", "threads": 8, **profile}
    texts = {
        "dbt_project.yml": yaml.safe_dump({"name": "shop", "profile": "shop"}),
        "profiles.yml": yaml.safe_dump({"shop": {"target": "dev", "outputs": {"dev": output}}}),
        **{f"models/{name}": text for name, text in models.items()},
    }
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def start(project: Path, *command: str, **environment: str) -> subprocess.Popen[str]:
    """Start dbt. Standard output and errors form one text."""
    return subprocess.Popen(
        [*DBT, *command],
        cwd=project,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def printed(process: subprocess.Popen[str], *, succeeds: bool = True) -> str:
    """The output of a dbt process until its end, which must not contain a stack trace."""
    text, _ = process.communicate(timeout=900)
    assert (process.returncode == 0) == succeeds, text
    assert "\tat " not in text
    assert "Traceback" not in text
    return text


def dbt(project: Path, *command: str, succeeds: bool = True, **environment: str) -> str:
    """Run dbt; returns its output."""
    return printed(start(project, *command, **environment), succeeds=succeeds)
