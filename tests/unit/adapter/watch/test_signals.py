"""SIGTERM and Ctrl-C end a pause, and interrupt a build once."""

from __future__ import annotations

import os
import signal
import time

import pytest

from dbt.adapters.spark_iceberg.spark.interrupt import InterruptError
from dbt.adapters.spark_iceberg.watch.signals import Stop

SIGNALS = [signal.SIGTERM, signal.SIGINT]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_build_is_interrupted_once(number):
    stop = Stop()

    def build():
        with stop.building():
            try:
                os.kill(os.getpid(), number)
            finally:
                os.kill(os.getpid(), number)  # while dbt cancels its statements

    with stop.listening(), pytest.raises(InterruptError, match=number.name):
        build()
    assert stop.asked


@pytest.mark.parametrize("number", SIGNALS)
def test_a_build_does_not_begin_after_a_signal(number):
    stop, began = Stop(), []
    with stop.listening():
        os.kill(os.getpid(), number)
        with pytest.raises(InterruptError), stop.building():
            began.append(True)
    assert not began


@pytest.mark.parametrize("number", SIGNALS)
def test_a_pause_ends(number):
    stop = Stop()
    with stop.listening():
        assert not stop.wait(0.01)
        os.kill(os.getpid(), number)
        began = time.monotonic()
        assert stop.wait(30)
    assert time.monotonic() - began < 5


def test_the_handlers_are_restored():
    before = [signal.getsignal(number) for number in SIGNALS]

    with Stop().listening():
        assert [signal.getsignal(number) for number in SIGNALS] != before

    assert [signal.getsignal(number) for number in SIGNALS] == before
