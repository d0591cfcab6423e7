"""The release rehearsal, `make release-check`, which installs the artifacts in dist/ into empty environments."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.compat.install import find_python
from tests.functional.first_hour.test_readme import COMMANDS, FILES

ROOT = Path(__file__).parents[2]
ARTIFACTS = (("3.10", "*.whl"), ("3.10", "*.tar.gz"), ("3.13", "*.whl"), ("3.13", "*.tar.gz"))
PATIENCE = 600
"""The timeout of one step in seconds, long enough to start Spark on a busy machine."""

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module", params=ARTIFACTS, ids=" ".join)
def environment(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a shell with an activated environment that contains the artifact, but not the checkout."""
    version, pattern = request.param
    python = find_python(version)
    if python is None:  # if this were skipped, the rehearsal would seem to pass
        pytest.fail(f"Python {version} is not installed")
    (artifact,) = (ROOT / "dist").glob(pattern)
    home = tmp_path_factory.mktemp("release") / "venv"
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--python", python, home], check=True)
    # the tested versions of all dependencies, so that a new release of dbt cannot make the rehearsal fail
    locked = ["--constraint", str(ROOT / "requirements" / "dev.txt")]
    install = ["pip", "install", "--quiet", "--python", str(home), f"{artifact}[session]", *locked]
    subprocess.run([*uv, *install], check=True)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("DBT_", "PYTHON", "SPARK"))}
    return {**kept, "PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}", "VIRTUAL_ENV": str(home)}


def run(environment: dict[str, str], folder: Path, script: str, answers: str = "") -> str:
    """Run a Bash script, which must succeed, and return its output."""
    done = subprocess.run(
        ["bash", "-euc", script],
        cwd=folder,
        env=environment,
        input=answers,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_dbt_init_writes_a_project_that_runs(environment: dict[str, str], tmp_path: Path) -> None:
    """dbt's order of the databases varies, so the test first reads the list."""
    profiles = {**environment, "DBT_PROFILES_DIR": str(tmp_path)}
    asked = run(profiles, tmp_path, "dbt init unfinished || true")
    (number,) = re.findall(r"^\[(\d)\] spark_iceberg$", asked, re.MULTILINE)
    run(profiles, tmp_path, "dbt init shop", f"{number}\n1\n\n")

    assert "type: spark_iceberg" in (tmp_path / "profiles.yml").read_text(encoding="utf-8")
    said = run(profiles, tmp_path / "shop", "dbt run")
    assert "PASS=2 WARN=0 ERROR=0" in said
    assert (tmp_path / "shop" / "lakehouse" / "catalog.db").exists()


def test_the_first_project_of_the_readme_and_watch(environment: dict[str, str], tmp_path: Path) -> None:
    run(environment, tmp_path, FILES)
    said = run(environment, tmp_path / "shop", COMMANDS)
    assert said.count("OK 1,000 rows") == 2
    assert "NOTHING NEW" in said

    log = tmp_path / "watch.log"
    with log.open("w") as output:
        watch = subprocess.Popen(
            ["dbt-spark-iceberg", "watch", "--interval", "500ms"],
            cwd=tmp_path / "shop",
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        run(environment, tmp_path / "shop", "dbt run-operation land --args '{day: 2026-01-03}'")
        end = time.monotonic() + PATIENCE
        while "OK 1,000 rows" not in log.read_text(encoding="utf-8"):
            assert watch.poll() is None and time.monotonic() < end, log.read_text(encoding="utf-8")
            time.sleep(0.5)
        watch.send_signal(signal.SIGTERM)
        assert watch.wait(PATIENCE) == 0
    finally:
        watch.kill()
