"""Creates environments. uv finds the Python and installs the versions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from dbt.adapters.spark_iceberg.profile.lakehouse import RUNTIMES, minor_version

from .environments import LISTS, LOCK, ROOT, Environment

UV = Path(sys.executable).with_name("uv")
SHOWN = ("dbt-core", "dbt-adapters", "pyspark", "pyiceberg")


class CannotInstallError(Exception):
    """An environment could not be created. The message contains the reason."""


def install(environment: Environment, python: Path) -> None:
    """Create an environment from scratch, which takes seconds if uv's cache is filled. Raises CannotInstallError."""
    uv("venv", "--clear", "--python", str(python), str(environment.folder))
    for versions in filter(None, (LOCK, environment.list)):
        _install(environment, "--requirement", str(versions), "--override", str(LISTS / "overrides.txt"))
    _install(environment, "--no-deps", "--no-build-isolation", "--editable", str(ROOT))


def find_python(version: str) -> Path | None:
    """Find an installed Python of a minor version, or return None."""
    try:
        return Path(uv("python", "find", "--system", "--no-project", version).strip())
    except CannotInstallError:
        return None


def versions(environment: Environment) -> Mapping[str, str]:
    """The installed versions that the table shows, by package, and the versions of ``python`` and ``iceberg``."""
    listed = json.loads(uv("pip", "list", "--format", "json", "--python", str(environment.folder)))
    found = {each["name"]: each["version"] for each in listed if each["name"] in SHOWN}
    shown = subprocess.run(
        [environment.folder / "bin" / "python", "-c", "import platform; print(platform.python_version())"],
        capture_output=True,
        text=True,
        check=True,
    )
    iceberg = environment.iceberg or RUNTIMES.get(minor_version(found["pyspark"]))
    return {"python": shown.stdout.strip(), **({} if iceberg is None else {"iceberg": iceberg}), **found}


def _install(environment: Environment, *arguments: str) -> None:
    uv("pip", "install", "--python", str(environment.folder), *arguments)


def uv(*arguments: str) -> str:
    done = subprocess.run(
        [UV, *arguments],
        env={**os.environ, "UV_PYTHON_DOWNLOADS": "never", **_pyenv()},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CannotInstallError(f"uv {' '.join(arguments)}:\n{done.stderr.strip()}")
    return done.stdout


def _pyenv() -> Mapping[str, str]:
    """Environment variables with which pyenv offers all installed Pythons, not only those selected in this folder."""
    if shutil.which("pyenv") is None:
        return {}
    listed = subprocess.run(["pyenv", "versions", "--bare"], capture_output=True, text=True, check=True)
    return {"PYENV_VERSION": ":".join(each for each in listed.stdout.split() if "/" not in each)}
