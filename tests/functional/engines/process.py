"""An engine in a process of its own, with the environment of its list in requirements/engines."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from tests.functional.environments import ROOT, installed
from tests.functional.metadata.servers import JARS, JAVA

from .outcomes import ENGINES

PROGRAMS = f"{__package__}.programs"
_IVY = """<ivy-module version="2.0">
  <info organisation="tests" module="{0}"/>
  <configurations><conf name="default"/></configurations>
  <dependencies defaultconf="default->default">{1}</dependencies>
</ivy-module>"""
_MOST_SECONDS = 300
"""The time after which a process that does not answer is ended."""


class EngineError(Exception):
    """An engine refused a request. The message has the type and the text of its own error."""


class Engine:
    """A running engine. ``log``: the file with what it prints."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process, self._log = process, log

    def ask(self, operation: str, **arguments: Any) -> Any:
        """The result of an operation of the engine's program. Raises EngineError, also for an engine that hangs."""
        assert self._process.stdin is not None and self._process.stdout is not None
        timer = Timer(_MOST_SECONDS, self._process.kill)
        timer.start()
        try:
            self._process.stdin.write(json.dumps({"operation": operation, **arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        finally:
            timer.cancel()
        if not line:
            raise EngineError(f"the process ended:\n{self._log.read_text(encoding='utf-8', errors='replace')[-3000:]}")
        answer = json.loads(line)
        if "error" in answer:
            raise EngineError(answer["error"])
        return answer["result"]


def retrieved(name: str, coordinates: tuple[str, ...], folder: Path) -> list[Path]:
    """Jars of Maven Central with all that they depend on, or archives. Spark's Ivy downloads them once."""
    if not coordinates:
        return []
    wanted = "".join(map(_dependency, coordinates))
    (folder / f"{name}.xml").write_text(_IVY.format(name, wanted), encoding="utf-8")
    pattern = f"{folder}/{name}_jars/[artifact]-[revision](-[classifier]).[ext]"
    ivy = ["-warn", "-ivy", str(folder / f"{name}.xml"), "-retrieve", pattern, "-types", "jar", "bundle", "tar.gz"]
    program = [JAVA, "-cp", *map(str, JARS.glob("ivy-*.jar")), "org.apache.ivy.Main"]
    subprocess.run([*program, *ivy], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    return sorted((folder / f"{name}_jars").iterdir())


def _dependency(coordinates: str) -> str:
    organisation, module, version, *kind = coordinates.split(":")
    named = f'org="{organisation}" name="{module}" rev="{version}"'
    if not kind:
        return f"<dependency {named}/>"
    return f'<dependency {named} transitive="false"><artifact name="{module}" type="{kind[0]}"/></dependency>'


def compiled(name: str, folder: Path) -> str:
    """The path of the engine's program in Go, or an empty string if it has none. Skips the test without Go."""
    source = Path(__file__).parent / "programs" / name
    if not source.exists():
        return ""
    if shutil.which("go") is None:
        pytest.skip("Go is not installed")
    subprocess.run(["go", "build", "-o", str(folder / f"{name}_program"), "."], check=True, cwd=source)
    return str(folder / f"{name}_program")


@contextmanager
def started(name: str, folder: Path) -> Iterator[Engine]:
    """An engine, which ends with the block. Its log is in the folder."""
    program = f"{PROGRAMS}.on_{name}"
    python = installed(ENGINES[name].environment, group="engines") / "python"
    log = folder / f"{name}.log"
    go = compiled(name, folder)
    jars = os.pathsep.join(map(str, retrieved(name, ENGINES[name].jars, folder)))
    with (
        log.open("w", encoding="utf-8") as printed,
        subprocess.Popen(
            [python, "-m", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=printed,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "TZ": "UTC", "ENGINE_JARS": jars, "ENGINE_PROGRAM": go},
            text=True,
        ) as process,
    ):
        yield Engine(process, log)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=60)
