"""Random logs. Whatever the order in which events arrive, a table has the versions that their sequence defines.

``FUZZ_HISTORIES``, ``FUZZ_ROUNDS`` and ``FUZZ_SEED`` set the number, length and seed; see ``test_versions``.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from iceberg_incremental.publish.publisher import Publisher
from iceberg_incremental.write.versions import from_log

from .log_versions import LogKept
from .test_versions import COUNT, FIXED_SEED, ROUNDS, SEED, crash
from .together import at_once, batches
from .versions import WrongVersionsError

BATCHES = batches(range(COUNT))
CHOSEN = [BATCHES[0], *(pytest.param(batch, marks=pytest.mark.nightly) for batch in BATCHES[1:])]
_BEFORE_RUN = ("", "crash", "compact", "", "add_column", "refresh")


class Logs:
    """Several logs that are played together."""

    def __init__(self, shop: Any, numbers: Sequence[int], seed: int = SEED) -> None:
        self.shop = shop
        self.random = random.Random(f"{seed} {numbers}")
        self.kept = [LogKept(f"s{number}", random.Random(f"log {seed} {number}"), shop) for number in numbers]

    def play(self, monkeypatch: Any, rounds: int = ROUNDS) -> None:
        """Play all rounds. Raises WrongVersionsError."""
        with at_once() as call:
            call(LogKept.begin, self.kept)
            self.shop.declare()
            for number in range(rounds):
                before = self.random.choice(_BEFORE_RUN) if number else ""
                call(partial(LogKept.arrive, before=before, rounds=rounds - number), self.kept)
                if before == "crash":
                    with monkeypatch.context() as patched:
                        patched.setattr(Publisher, "_forward", crash)
                        self.shop.dbt("run")
                    call(lambda each: each.send(each.random.randint(0, 2)), self.kept)
                self.shop.run(*(["--full-refresh"] if before == "refresh" else []))
                call(LogKept.check, self.kept)

    def __str__(self) -> str:
        return (
            f"{len(self.kept)} logs, {sum(len(each.sent) for each in self.kept)} events,"
            f" {sum(each.checks for each in self.kept)} tables compared"
        )


@pytest.mark.core
@pytest.mark.parametrize("numbers", CHOSEN, ids=lambda numbers: f"{numbers[0]}-{numbers[-1]}")
def test_a_table_has_the_versions_that_the_events_make(small_shop, monkeypatch, numbers, record_property):
    played = Logs(small_shop, numbers)
    played.play(monkeypatch)
    record_property(f"fuzz_logs_{numbers[0]}", f"seed {SEED}: {played}")


def hidden_events_are_forgotten(monkeypatch):
    """Events without a change of checked columns are not recorded."""
    hidden_sql = from_log.hidden_sql
    monkeypatch.setattr(
        from_log, "hidden_sql", lambda *given: f"select * from ({hidden_sql(*given)}) where _change_type <> 'INSERT'"
    )


def deletions_are_forgotten(monkeypatch):
    """Deletions are not recorded."""
    hidden_sql = from_log.hidden_sql
    monkeypatch.setattr(
        from_log, "hidden_sql", lambda *given: f"select * from ({hidden_sql(*given)}) where _change_type = 'INSERT'"
    )


def late_events_are_ignored(monkeypatch):
    """Events that are older than a version of their key are ignored."""
    line_sql = from_log.line_sql

    def careless(events: str, rows: Any, known: Any = None, hidden: Any = None) -> str:
        if known is not None:
            older = f"exists (select 1 from {known} as n where n.k <=> e.k and n.s > e.s)"
            events = f"(select * from {events} as e where not {older})"
        return line_sql(events, rows, known, hidden)

    monkeypatch.setattr(from_log, "line_sql", careless)


def recorded_events_are_not_read(monkeypatch):
    """Runs read only the versions and the new events."""
    line_sql = from_log.line_sql
    monkeypatch.setattr(from_log, "line_sql", lambda events, rows, known=None, _=None: line_sql(events, rows, known))


@pytest.mark.nightly
@pytest.mark.parametrize(
    "plant",
    [
        hidden_events_are_forgotten,
        deletions_are_forgotten,
        late_events_are_ignored,
        recorded_events_are_not_read,
    ],
    ids=lambda plant: plant.__name__,
)
def test_a_planted_bug_is_found(small_shop, monkeypatch, plant):
    plant(monkeypatch)
    for numbers in batches(range(40), 8):
        try:
            Logs(small_shop, numbers, FIXED_SEED).play(monkeypatch)
        except (WrongVersionsError, AssertionError):
            return
    pytest.fail("no log has found it")
