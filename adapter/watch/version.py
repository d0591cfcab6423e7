"""The versions of a project. ``watch`` parses the project again after its files have changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from .build import Outcome
from .due import Backoff, Dag, Reach
from .files import Stamps
from .page import Page
from .periodic_tasks import PeriodicTask
from .watched import Watched


@dataclass(frozen=True)
class Version:
    """The result of parsing the project once.

    ``build``: builds due nodes, given the nodes that have passed their tests. ``definitions``: digests of the selected
    nodes. ``stamps``: returns the current stamps of the files. ``parsed``: the stamps of the parsed files. ``close``:
    closes the version's connection to Spark.
    """

    watched: Watched
    dag: Dag
    build: Callable[[Reach, frozenset[str]], Outcome]
    periodic_tasks: Sequence[PeriodicTask] = ()
    page: Page | None = None
    definitions: Mapping[str, str] = field(default_factory=dict)
    stamps: Callable[[], Stamps] = dict
    parsed: Stamps = field(default_factory=dict)
    close: Callable[[], None] = lambda: None


class Versions:
    """Parses the project again after its files have changed, and then remained unchanged between two checks."""

    def __init__(self, first: Version, load: Callable[[], Version], backoff: Backoff) -> None:
        """``load``: parses the project. ``backoff``: the delay before parsing again after an error."""
        self.current = first
        self._load = load
        self._backoff = backoff
        self._known = first.parsed
        self._seen = first.parsed
        self._failures = 0
        self._retry_at = 0.0

    def newer(self, now: float) -> Version | None:
        """Return the next version. None if nothing has changed, or if files are still being written.

        ``now``: in seconds. The metadata of the next version has already been checked once, so that reports are never
        empty. Raises dbt's errors for a project that it cannot parse, and the errors of a check. In these cases, the
        current version remains.
        """
        seen, before = self.current.stamps(), self._seen
        self._seen = seen
        if seen == self._known and (not self._failures or now < self._retry_at):
            return None
        if seen != before:
            return None
        self._known = seen
        try:
            found = self._looked_at()
        except Exception:
            self._failures += 1
            self._retry_at = now + self._backoff.delay(self._failures)
            raise
        self.current, self._known, self._seen, self._failures = found, found.parsed, found.parsed, 0
        return found

    def _looked_at(self) -> Version:
        found = self._load()
        try:
            found.watched.look()
        except BaseException:
            found.close()
            raise
        return found


def parsed_stamps(stamps: Callable[[], Stamps], began: float) -> Stamps:
    """Return the stamps of the files that a parse has read, without those that may have been written during it.

    ``began``: the start of the parse, in seconds since 1970.
    """
    now = time.time()
    return {path: stamp for path, stamp in stamps().items() if not began * 1e9 <= stamp[0] <= now * 1e9}
