"""``dbt-spark-iceberg`` as users start it, in its own process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

COMMAND = Path(sys.executable).with_name("dbt-spark-iceberg")
PATIENCE = 300
"""Seconds. Spark may start on a busy machine."""


def arguments(folder: Path) -> list[str]:
    return ["--project-dir", str(folder), "--profiles-dir", str(folder)]


def pending(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``pending`` to its end."""
    return subprocess.run(
        [COMMAND, "pending", *arguments(folder), *options],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


class Watching:
    """A process that watches a project, with a log in JSON."""

    def __init__(self, folder: Path, number: int, options: Sequence[str], environment: Mapping[str, str]) -> None:
        self._log = folder / f"watch_{number}.log"
        fast = ("--interval", "300ms", "--log-format", "json")
        with self._log.open("w") as output:
            self.process = subprocess.Popen(
                [COMMAND, "watch", *arguments(folder), *fast, *options],
                env={**os.environ, **environment},
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
            )

    def log(self) -> str:
        return self._log.read_text()

    def events(self, name: str) -> list[dict[str, Any]]:
        """The data of all events with this name. The last line of the log may be incomplete."""
        lines = [json.loads(line) for line in self.log().splitlines() if line.startswith("{") and line.endswith("}")]
        return [line["data"] for line in lines if line["info"]["name"] == name]

    def failures(self, node: str) -> list[dict[str, Any]]:
        return [event for event in self.events("NodeFailing") if event["node"].endswith(f".{node}")]

    def until(self, holds: Callable[[], object]) -> None:
        """Wait until a condition holds. Fails if the process ends earlier."""
        end = time.monotonic() + PATIENCE
        while not holds():
            assert self.process.poll() is None, self.log()[-5000:]
            assert time.monotonic() < end, self.log()[-5000:]
            time.sleep(0.1)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal; returns the exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self.process.kill()
        self.process.wait(60)
