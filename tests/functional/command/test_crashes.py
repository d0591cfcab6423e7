"""The command is killed with SIGKILL, and several processes of a job run at once. Each row is written once.

``CHAOS_KILLS`` and ``CHAOS_ROUNDS`` set the number of kills and rounds in the tests that are marked thorough.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

HERE = Path(__file__).parent
KILLS = int(os.environ.get("CHAOS_KILLS", "5"))
ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "2"))


def started(lake, script, *arguments):
    command = [sys.executable, str(HERE / script), *map(str, arguments), *lake.properties_given()]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def killed(lake, moment, *arguments):
    process = started(lake, "command_that_dies.py", moment, *arguments)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (-signal.SIGKILL, ""), err


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_capture_that_is_killed_is_repeated(lake, moment):
    lake.insert((1, "a"))
    lake.run()
    lake.insert((2, "b"))
    killed(lake, moment, "capture", f"--target={lake.target}", f"--source={lake.source}")
    assert len(lake.branches()) == (1 if moment == "before" else 2)
    assert lake.run().code == 0
    assert lake.rows("id") == Counter([(1,), (2,)])
    assert lake.branches() == {"main"}


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_commit_that_is_killed_is_repeated(lake, moment):
    lake.insert((1, "a"))
    captured = lake.capture()
    lake.write(captured)
    killed(lake, moment, "commit", f"--run={lake.saved(captured)}")
    assert lake.rows("id") == (Counter() if moment == "before" else Counter([(1,)]))
    again = lake.commit(captured)
    assert (again.code, again.document["already_committed"]) == (0, moment == "after")
    assert lake.rows("id") == Counter([(1,)])
    assert lake.capture().code == 3


@pytest.mark.thorough
def test_jobs_that_are_killed_at_random_times(lake):
    chance = random.Random(20260101)
    lake.insert((0, "x"))
    began = time.monotonic()
    finished(lake, started(lake, "whole_job.py", lake.source, lake.target))
    duration = time.monotonic() - began
    for number in range(1, KILLS + 1):
        lake.insert((number, "x"))
        process = started(lake, "whole_job.py", lake.source, lake.target)
        time.sleep(duration * chance.uniform(0.4, 1.0))
        process.kill()
        process.communicate()
        assert not [each for each, times in lake.rows("id").items() if times > 1]
    finished(lake, started(lake, "whole_job.py", lake.source, lake.target))
    assert lake.rows("id") == Counter((number,) for number in range(KILLS + 1))
    assert lake.branches() == {"main"}


@pytest.mark.thorough
def test_concurrent_jobs(lake):
    for number in range(ROUNDS + 1):
        lake.insert((number, "x"))
        processes = [started(lake, "whole_job.py", lake.source, lake.target) for _ in range(3)]
        codes = [finished(lake, process) for process in processes]
        assert 0 in codes
        assert lake.rows("id") == Counter((each,) for each in range(number + 1))
    assert lake.branches() == {"main"}


def finished(lake, process):
    """The exit code of a job: 0, or the code of a lost race."""
    out, err = process.communicate(timeout=300)
    assert process.returncode in (0, 3, 4), err
    assert process.returncode != 0 or json.loads(out)["action"] == "committed"
    return process.returncode
