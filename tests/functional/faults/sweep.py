"""Adds faults to the requests of one run after another, and counts the results."""

from __future__ import annotations

import itertools
import logging
import os
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .pipeline import Pipeline
from .proxy import Fault, Kind, Proxy

FAULTS = int(os.environ.get("CATALOG_FAULTS", "7"))
"""The number of faults for each server. ``make chaos`` sets it."""

_logger = logging.getLogger(__name__)
_LASTING = 20
"""More failed attempts than a client makes."""
_ONE_AT_A_TIME = (Kind.DELAYED, Kind.AFTER_TIMEOUT, Kind.DOWN)


@dataclass(frozen=True)
class Protocol:
    """Patterns for the requests of a table, with ``{table}``. ``any``: a pattern for all requests of a run."""

    name: str
    write: str
    read: str
    any: str
    kinds: Sequence[Kind] = tuple(Kind)

    def writes(self, table: str) -> re.Pattern[bytes]:
        return re.compile(self.write.replace("{table}", table).encode(), re.DOTALL)

    def reads(self, table: str) -> re.Pattern[bytes]:
        return re.compile(self.read.replace("{table}", table).encode(), re.DOTALL)

    def requests(self) -> re.Pattern[bytes]:
        return re.compile(self.any.encode(), re.DOTALL)


@dataclass
class Tally:
    """The results of a sweep."""

    faults: int = 0
    runs: int = 0
    failures: int = 0
    places: set[tuple[bytes, int]] = field(default_factory=set)
    kinds: Counter[Kind] = field(default_factory=Counter)

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind.name}" for kind, count in sorted(self.kinds.items(), key=lambda k: k[0].name))
        return (
            f"{self.faults} faults at {len(self.places)} places of {self.runs} runs ({kinds}): {self.failures} models "
            "failed and said what to do; no row lost or doubled, the next run right"
        )


def sweep(pipeline: Pipeline, proxy: Proxy, protocol: Protocol, faults: int, seed: int = 5) -> Tally:
    """Run until this many faults were met. A run has one fault for each model, or a single fault for any request."""
    tally, rounds = Tally(), planned(pipeline, _healthy(pipeline, proxy), protocol, random.Random(seed))
    while tally.faults < faults:
        planted = next(rounds)
        failed = pipeline.struck(proxy.having(*planted))
        _logger.info("%s failed %s", "; ".join(map(str, planted)), failed)
        pipeline.finish()
        met = [fault for fault in planted if fault.was_met]
        tally.runs += 1
        tally.faults += len(met)
        tally.failures += len(failed)
        tally.places |= {(fault.request.pattern, fault.at) for fault in met}
        tally.kinds.update(fault.kind for fault in met)
    _logger.info("%s: %s", protocol.name, tally)
    return tally


def _healthy(pipeline: Pipeline, proxy: Proxy) -> list[bytes]:
    """The requests of a run without faults that creates and continues each table."""
    with proxy.recording() as requests:
        failed = pipeline.struck(proxy.having())
    assert not failed
    return requests


def planned(
    pipeline: Pipeline, requests: Sequence[bytes], protocol: Protocol, chance: random.Random
) -> Iterator[list[Fault]]:
    """The faults of each run, given the requests of a healthy run. Every fifth run has one fault for any request."""
    kinds = [kind for kind in protocol.kinds if kind is not Kind.DOWN]  # it would end the run for all tables
    writes = [_endless(requests, protocol.writes(name), kinds, chance) for name in pipeline.models]
    reads = [_endless(requests, protocol.reads(name), kinds, chance) for name in pipeline.models]
    of_all = [_endless(requests, protocol.requests(), protocol.kinds, chance)]
    for drawn in itertools.cycle((writes, writes, reads, writes, of_all)):
        yield [next(faults) for faults in drawn]


def _endless(
    requests: Sequence[bytes], request: re.Pattern[bytes], kinds: Sequence[Kind], chance: random.Random
) -> Iterator[Fault]:
    """Each kind of fault at each request, in random order. The positions of the requests take turns."""
    count = sum(request.search(each) is not None for each in requests)
    assert count, f"no request matches {request.pattern!r}"
    kinds_at = {at: itertools.cycle(chance.sample(kinds, len(kinds))) for at in range(1, count + 1)}
    for at in itertools.cycle(chance.sample(range(1, count + 1), count)):
        kind = next(kinds_at[at])
        yield Fault(kind, request, at, 1 if kind in _ONE_AT_A_TIME else chance.choice((1, 1, _LASTING)))
