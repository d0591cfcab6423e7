"""dbt is killed with SIGKILL between statements and at random times. Rows and checkpoint stay consistent.

``CHAOS_KILLS`` sets the number of kills: a few in the ordinary tests, at least 100 in ``make chaos``.
"""

from __future__ import annotations

import os
import random
import re
import signal
import time

import pytest

KILLS = int(os.environ.get("CHAOS_KILLS", "5"))


@pytest.mark.thorough
def test_kills_at_statement_boundaries(factory):
    factory.land()
    factory.completes()
    factory.land()
    output = factory.completes()
    statements = int(re.findall(r"^statements: (\d+)$", output, re.MULTILINE)[-1])
    assert statements > 20
    boundaries = [1 + n * (statements - 1) // max(KILLS - 1, 1) for n in range(KILLS)]
    for boundary in boundaries:
        factory.land()
        code, output = factory.run("run", dies_at=boundary)
        # A run after a crash may have fewer statements, because a model that has already published has nothing to do.
        assert code in (-signal.SIGKILL, 0), output
        for name in ("appended", "merged"):
            factory.assert_whole(name)
    finish(factory)


@pytest.mark.thorough
def test_kills_at_random_times(factory):
    chance = random.Random(20260101)
    factory.land()
    factory.completes()
    began = time.monotonic()
    factory.land()
    factory.completes()
    duration = time.monotonic() - began
    for _ in range(KILLS // 2):
        factory.land()
        process = factory.start("run")
        time.sleep(duration * chance.uniform(0.4, 1.0))
        process.kill()
        process.communicate()
        for name in ("appended", "merged"):
            factory.assert_whole(name)
    finish(factory)


def finish(factory):
    """Wait until the server has finished the work of killed processes, and run twice. The second run finds nothing."""
    time.sleep(1)
    factory.land()
    for _ in range(2):
        factory.completes()
    factory.assert_complete()
