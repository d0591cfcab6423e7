"""Several processes run the same models at once, on one catalog. Each row is written once, and losers fail cleanly.

``CHAOS_ROUNDS`` sets the number of rounds.
"""

from __future__ import annotations

import os

import pytest

ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "2"))


@pytest.mark.thorough
def test_concurrent_processes(factory):
    factory.land()
    factory.completes()
    for round_ in range(ROUNDS):
        factory.land()
        processes = [factory.start("run", slot=slot) for slot in range(2 + round_ % 3)]
        outputs = [process.communicate(timeout=600)[0] for process in processes]
        for process, output in zip(processes, outputs, strict=True):
            assert "at org.apache" not in output
            if process.returncode != 0:
                lost = "Another run of model.f." in output
                assert lost or "could not be published" in output, output
        for name in ("appended", "merged"):
            factory.assert_whole(name)
    factory.land()
    for _ in range(2):
        factory.completes()
    factory.assert_complete()
