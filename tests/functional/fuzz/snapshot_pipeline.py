"""Plays histories of snapshots. Each snapshot has a twin for which dbt compares whole tables."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.functional.incremental.shop import Outcome, Shop

from .pipeline import WrongResultError
from .snapshot_histories import COLUMNS, SnapshotHistory, Step, Taken
from .together import at_once

_WHOLE = "_whole"


@dataclass
class SnapshotTally:
    """Counts runs by their kind, and steps by theirs."""

    runs: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: SnapshotTally) -> SnapshotTally:
        return SnapshotTally(self.runs + other.runs, self.steps + other.steps)

    def __str__(self) -> str:
        return f"runs {dict(self.runs)}, steps {dict(self.steps)}"


class SnapshotPipeline:
    """One history on real tables."""

    def __init__(self, shop: Shop, history: SnapshotHistory, seed: int) -> None:
        self.tally = SnapshotTally()
        self._shop, self._history = shop, history
        self._choice = random.Random(f"{seed} {history.number} plays")
        self._taken = {each.name: each for each in history.snapshots}
        properties = ", ".join(f"'{key}' = '{value}'" for key, value in history.layout.items())
        self._properties = properties
        self._name = f"rows_{history.number}"
        self._kept, self._aside = (shop.raw(f"{name}_{history.number}") for name in ("kept", "aside"))
        self._source = shop.raw(self._name)

    def begin(self) -> None:
        """Create the source and the snapshots."""
        self._shop.source(self._name, COLUMNS, f"tblproperties ({self._properties})")
        for step in self._history.first:
            self._do(step)
        for each in self._taken.values():
            self._write(each)

    def some_steps(self, number: int) -> None:
        """Play the steps of a round."""
        for step in self._history.rounds[number]:
            self._do(step)

    def check(self, found: Outcome, begun: Sequence[Any], number: int | None) -> None:
        """Compare the tables after a run. Raises WrongResultError for the first that differs.

        ``begun``: the start times of all runs so far. ``number``: of the round, or None for the first run.
        """
        steps = [] if number is None else [step.kind for step in self._history.rounds[number]]
        for name, taken in self._taken.items():
            mine, other = found.nodes[name], found.nodes[name + _WHOLE]
            where = f"history {self._history.number}, snapshot {name} {taken.config}, round {number} after {steps}"
            self.tally.runs[_kind(mine, found.printed)] += 1
            if str(mine.status) != str(other.status):
                raise WrongResultError(f"{where}: {mine.status} and {other.status}\n{mine.message}\n{other.message}")
            rows, wanted = (self._versions(each, begun) for each in (name, name + _WHOLE))
            if rows != wanted:
                raise WrongResultError(
                    f"{where}\n {taken.query}\n only here: {rows - wanted}\n missing: {wanted - rows}"
                    f"\n{_logged(found.printed, name)}"
                )

    def _write(self, taken: Taken) -> None:
        for name, more in ((taken.name, {}), (taken.name + _WHOLE, {"ip_incremental": False})):
            listed = ", ".join(f"{key}={value!r}" for key, value in {**taken.config, **more}.items())
            query = taken.query.format(source=f"{{{{ source('raw', '{self._name}') }}}}")
            text = f"{{% snapshot {name} %}}\n{{{{ config({listed}) }}}}\n{query}\n{{% endsnapshot %}}\n"
            self._shop.write(f"snapshots/{name}.sql", text)

    def _do(self, step: Step) -> None:
        self.tally.steps[step.kind] += 1
        if step.kind == "edit":
            edited = self._taken[str(step.of)].edited(self._choice)
            self._taken[edited.name] = edited
            return self._write(edited)
        names = [""] if step.of is None else [step.of, step.of + _WHOLE]
        for name in names:
            for statement in step.statements:
                self._send(statement, self._shop.built(name))
        return None

    def _send(self, statement: str, target: str) -> None:
        if statement == "roll back":
            return self._roll_back(self._source)
        if "add columns (c" in statement and f" {statement.split('(')[1].split(maxsplit=1)[0]} " in self._columns():
            return None
        plain, plain_target = (each.replace("`", "").split(".", 1)[1] for each in (self._source, target))
        self._shop.sql(
            statement.format(
                source=self._source,
                kept=self._kept,
                aside=self._aside,
                plain=plain,
                target=target,
                plain_target=plain_target,
                properties=self._properties,
            )
        )
        return None

    def _columns(self) -> str:
        return " ".join(f" {name} " for name, *_ in self._shop.sql(f"describe table {self._source}"))

    def _roll_back(self, table: str) -> None:
        known = {row[0] for row in self._shop.sql(f"select snapshot_id from {table}.snapshots")}
        found = [each for each, _, _ in self._shop.snapshots(table) if each in known][:-1]
        if found:
            plain = table.replace("`", "").split(".", 1)[1]
            self._shop.sql(f"call lakehouse.system.rollback_to_snapshot('{plain}', {self._choice.choice(found)}L)")

    def _versions(self, name: str, begun: Sequence[Any]) -> Counter[Any]:
        table = self._shop.built(name)
        frame = self._shop.frame(f"select * from {table}")
        own = {"dbt_scd_id", "version_id"}
        rows = []
        times: Counter[Any] = Counter()
        for row in frame.collect():
            values = {column: _plain(value, begun) for column, value in row.asDict().items() if column not in own}
            scd_id = next(value for column, value in row.asDict().items() if column in own)
            times[scd_id] += 1
            rows.append((values, scd_id))
        return Counter(
            (
                tuple(sorted(values.items(), key=lambda item: item[0])).__repr__(),
                times[scd_id],
                scd_id if str(values["dbt_valid_from"]).startswith("2020") else None,
            )
            for values, scd_id in rows
        )


def _plain(value: Any, begun: Sequence[Any]) -> Any:
    """A value. Current times are replaced with the number of their run."""
    if hasattr(value, "year") and 2021 < value.year < 9999:
        return f"run {sum(each <= value for each in begun)}"
    return value


def _kind(result: Any, printed: str) -> str:
    if str(result.status) != "success":
        return "failed"
    code = result.adapter_response.get("code") or "whole"
    whole = f".{result.node.name}: compares whole tables" in printed
    return "whole" if whole else str(code)


def _logged(printed: str, name: str) -> str:
    return "\n".join(line for line in printed.splitlines() if f"snapshot.shop.{name}" in line)


def play(shop: Shop, histories: Sequence[SnapshotHistory], seed: int) -> SnapshotTally:
    """Play histories of as many rounds in one project. Raises WrongResultError for the first wrong result."""
    played = [SnapshotPipeline(shop, each, seed) for each in histories]
    begun: list[Any] = []
    with at_once() as call:
        for number in (None, *range(len(histories[0].rounds))):
            if number is None:
                call(SnapshotPipeline.begin, played)
                shop.declare()
            else:
                call(partial(SnapshotPipeline.some_steps, number=number), played)
            begun.append(shop.sql("select current_timestamp()")[0][0])
            found = shop.dbt("snapshot")
            call(partial(SnapshotPipeline.check, found=found, begun=begun, number=number), played)
    return sum((each.tally for each in played), SnapshotTally())
