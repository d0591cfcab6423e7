"""How the benchmarks measure CPU time."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from benchmarks import cpu

SPIN = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"


def test_the_cpu_time_of_this_process():
    before = cpu.whole()
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    assert 0.2 < cpu.whole() - before < 3


def test_the_cpu_time_of_a_child_process_counts_during_and_after_its_run():
    before = cpu.whole()
    waits = f"{SPIN}\nprint(flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", waits], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert cpu.whole() - before > 0.2
        assert 0.2 < cpu.whole(process.pid) < cpu.whole(os.getpid())
        process.communicate(b"\n")
    assert cpu.whole() - before > 0.2


def test_a_process_that_does_not_exist_has_no_cpu_time():
    assert cpu.whole(0) == 0
