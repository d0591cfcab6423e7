"""Workflows, hooks and lock files match the Makefile, tests/compat and the package's metadata."""

from __future__ import annotations

import re
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.compat.environments import ENVIRONMENTS
from tests.compat.locks import locks

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
REQUIREMENTS = ROOT / "requirements"
# the extras of LOCK in the Makefile
EXTRAS = ("session", "PyHive", "catalogs")
ALL_PYTHONS = ("3.10", "3.11", "3.12", "3.13")
LOCKS = [
    ("dev.txt", ["dev.in"], EXTRAS, ALL_PYTHONS),
    ("release.txt", ["release.in"], None, ALL_PYTHONS),
    ("compat/oldest.txt", [], EXTRAS, ["3.10"]),
    ("compat/newest.txt", [], EXTRAS, ["3.13"]),
    ("engines/small.txt", ["engines/small.in"], None, ALL_PYTHONS[1:]),
    ("engines/large.txt", ["engines/large.in"], None, ALL_PYTHONS[1:]),
    ("engines/trino.txt", ["engines/trino.in"], None, ALL_PYTHONS[1:]),
    ("engines/flink.txt", ["engines/flink.in"], None, ALL_PYTHONS[1:]),
    ("engines/spark35.txt", ["engines/spark35.in"], None, ALL_PYTHONS[1:]),
    ("schedulers/airflow.txt", ["schedulers/airflow.in"], None, ALL_PYTHONS),
    ("schedulers/cosmos.txt", ["schedulers/cosmos.in"], (), ALL_PYTHONS),
    ("schedulers/dagster.txt", ["schedulers/dagster.in"], (), ALL_PYTHONS),
]


def jobs(workflow: Path) -> dict[str, Any]:
    return yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]


def commands_of(target: str) -> list[str]:
    """The commands of the virtual environment that a Makefile target calls."""
    recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert recipe is not None
    return re.findall(r"^\t(?:\w+=\S+ )?\$\(BIN\)/(.*)$", recipe[1], re.MULTILINE)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_each_action_is_pinned_to_a_commit(workflow):
    used = re.findall(r"uses: (.*)$", workflow.read_text(encoding="utf-8"), re.MULTILINE)
    assert [each for each in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", each)] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_each_job_has_permissions_and_a_timeout(workflow):
    assert yaml.safe_load(workflow.read_text(encoding="utf-8"))["permissions"] == {}
    assert [name for name, job in jobs(workflow).items() if not {"permissions", "timeout-minutes"} <= job.keys()] == []


def test_jobs_call_targets_that_exist():
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    steps = [step.get("run", "") for path in WORKFLOWS for job in jobs(path).values() for step in job["steps"]]
    called = {word for run in steps if run.startswith("make ") for word in run.split()[1:] if word != '"$TARGET"'}
    called |= set(jobs(ROOT / ".github" / "workflows" / "nightly.yml")["long"]["strategy"]["matrix"]["target"])
    assert {"lint", "test", "compat", "release-check", "fuzz"} <= called <= targets


def test_the_matrix_contains_every_compat_environment():
    matrix = jobs(ROOT / ".github" / "workflows" / "checks.yml")["compat"]["strategy"]["matrix"]["include"]
    assert {each["environment"]: each["python"] for each in matrix} == {each.name: each.python for each in ENVIRONMENTS}


def test_hooks_call_the_linters_of_make_lint():
    """Both use the virtual environment, so that only requirements/dev.txt lists the versions of the linters."""
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    entries = [hook["entry"] for hook in repository["hooks"]]
    hooked = {re.search(r"\.venv/bin/(\S+)", entry)[1] for entry in entries if entry != "make lint"}
    # lint-imports and mypy check all files at once, so they run only in `make lint` before a push
    assert hooked == {command.split()[0] for command in commands_of("lint")} - {"lint-imports", "mypy"}
    assert "make lint" in entries


def pins(lock: Path, python: str) -> dict[str, str]:
    """The versions in a lock file that apply to a Python version."""
    on = {"python_version": python, "python_full_version": f"{python}.99"}
    lines = (line.split(" \\")[0] for line in lock.read_text(encoding="utf-8").splitlines() if "==" in line)
    listed = [Requirement(line) for line in lines]
    held = [each for each in listed if each.marker is None or each.marker.evaluate(on)]
    return {canonicalize_name(each.name): next(iter(each.specifier)).version for each in held}


def needed(inputs: list[str], extras: tuple[str, ...] | None, python: str) -> list[Requirement]:
    """The requirements of a lock file, from its lists and, if ``extras`` is not None, from the package itself."""
    lines = [line for name in inputs for line in (REQUIREMENTS / name).read_text(encoding="utf-8").splitlines()]
    listed = [Requirement(line.split("  #")[0]) for line in lines if line and not line.startswith("#")]
    for extra in () if extras is None else ("", *extras):
        on = {"extra": canonicalize_name(extra) if extra else "", "python_version": python}
        package = [Requirement(each) for each in requires("dbt-spark-iceberg") or ()]
        listed += [each for each in package if each.marker is None or each.marker.evaluate(on)]
    return listed


@pytest.mark.parametrize(("lock", "inputs", "extras", "pythons"), LOCKS, ids=[lock for lock, *_ in LOCKS])
def test_lock_files_satisfy_their_requirements(lock, inputs, extras, pythons):
    """The test needs no network. `make lock` updates the lock files."""
    for python in pythons:
        pinned, wanted = pins(REQUIREMENTS / lock, python), needed(inputs, extras, python)
        assert wanted and pinned
        stale = [
            f"{each} on Python {python}"
            for each in wanted
            if not each.specifier.contains(pinned.get(canonicalize_name(each.name), "0"), prereleases=True)
            or canonicalize_name(each.name) not in pinned
        ]
        assert stale == []


@pytest.mark.parametrize("lock", locks(), ids=lambda lock: lock.name)
def test_lock_files_are_up_to_date(lock):
    """Neither the requirements and options of `make lock` nor the lines of the lock file have changed since."""
    assert lock.stamp == lock.present_stamp, "run `make lock`"


def test_every_lock_file_is_checked():
    assert {(lock.name, *lock.inputs) for lock in locks()} == {(name, *inputs) for name, inputs, *_ in LOCKS}
    assert {path.name for path in REQUIREMENTS.rglob("*.in")} == {
        Path(each).name for _, inputs, *_ in LOCKS for each in inputs
    }
    assert re.search(r"--extra ,\\\n\t([\w ]+)\)", MAKEFILE)[1].split() == list(EXTRAS)
