from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_iceberg.spark import interrupt


@pytest.fixture(autouse=True)
def pythons_own() -> Iterator[None]:
    """Install Python's own SIGINT handler for the test, and restore the earlier handler afterwards."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, DbtRuntimeError])
def test_ctrl_c_raises_a_dbt_error_that_is_also_an_interrupt(kind):
    interrupt.listen()
    with pytest.raises(kind, match="Interrupted: the running Spark statements"):
        signal.raise_signal(signal.SIGINT)


def test_pythons_handler_is_restored():
    interrupt.listen()
    interrupt.stop_listening()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_handler_of_another_program_is_kept():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    interrupt.listen()
    interrupt.stop_listening()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_another_thread_changes_nothing():
    thread = threading.Thread(target=interrupt.listen)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
