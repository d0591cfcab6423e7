"""Random logs of events, each with a model that keeps their versions, and the expected contents of its table."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.functional.incremental.shop import Shop

from .versions import BYTES, WrongVersionsError

_END = 1_000_000
_MODES = "'write.delete.mode'='{0}', 'write.update.mode'='{0}', 'write.merge.mode'='{0}'"
_KINDS = {"INSERT": 6, "UPDATE_AFTER": 2, "DELETE": 3, "UPDATE_BEFORE": 1}
Event = Mapping[str, Any]


def replayed(events: Sequence[Event], keys: Sequence[str], deletes: str, checked: Sequence[str]) -> Counter[Any]:
    """The versions from events, in the order of their sequence: values, begin, end, time of the values, deleted.

    ``checked``: a change of these columns creates a version.
    """
    found: Counter[Any] = Counter()
    for key in {tuple(each[name] for name in keys) for each in events}:
        found.update(_of_key([each for each in events if tuple(each[name] for name in keys) == key], deletes, checked))
    return found


def _of_key(events: Sequence[Event], deletes: str, checked: Sequence[str]) -> list[Any]:
    rows = {each["s"]: each for each in events if each["op"] in ("INSERT", "UPDATE_AFTER")}
    deletions = {each["s"] for each in events} - rows.keys()
    versions: list[list[Any]] = []
    valid: Event | None = None
    is_deleted = False
    for at in sorted({*rows, *deletions}):
        row = rows.get(at)
        if row is None:
            if valid is None or is_deleted or deletes == "ignore":
                continue
            versions[-1][2] = at
            if deletes == "new_record":
                versions.append([valid, at, None, at, True])
                is_deleted = True
            else:
                valid = None
            continue
        if valid is not None and not is_deleted and all(row.get(name) == valid.get(name) for name in checked):
            versions[-1][0], versions[-1][3] = row, at
        else:
            if valid is not None:
                versions[-1][2] = at
            versions.append([row, at, None, at, False])
        valid, is_deleted = row, False
    return [(tuple(values.get(name) for name in "kjabxs"), *rest) for values, *rest in versions]


@dataclass
class LogKept:
    """A log, and the model that keeps its versions."""

    name: str
    random: random.Random
    shop: Shop
    table: str = ""
    keys: tuple[str, ...] = ("k",)
    deletes: str = ""
    check_cols: tuple[str, ...] = ()
    is_time: bool = False
    has_x: bool = False
    pending: list[Event] = field(default_factory=list)
    sent: list[Event] = field(default_factory=list)
    checks: int = 0

    def begin(self) -> None:
        """Create the log and the model, and choose the events in the order of their arrival."""
        choose = self.random.choice
        self.is_time = choose([True, False])
        mode = choose(["copy-on-write", "merge-on-read"])
        columns = f"k int, j int, a int, b string, s {'timestamp' if self.is_time else 'bigint'}, op string"
        self.table = self.shop.source(self.name, columns, f"tblproperties ({_MODES.format(mode)})")
        self.keys = choose([("k",), ("k", "j")])
        self.deletes = choose(["invalidate", "ignore", "new_record"])
        self.check_cols = choose([(), ("a",), ("a",), ("a", "b")])
        config: dict[str, Any] = {"unique_key": list(self.keys), "hard_deletes": self.deletes, "sequence_by": "s"}
        if self.check_cols:
            config["check_cols"] = list(self.check_cols)
        if choose([True, False]):
            config["dbt_valid_to_current"] = self.time_of(_END)
        if choose([True, False, False]):
            config["tblproperties"] = {"format-version": "2", "write.merge.mode": "copy-on-write"}
        more = ""
        if choose([True, False, False]):
            more, config["unique_key"] = f", {BYTES}", ["t", *self.keys[1:]]
        self.shop.model(
            f"of_{self.name}",
            f"select * except (op), op as _change_type{more} from {{{{ ip_changes(source('raw', '{self.name}')) }}}}",
            incremental_strategy="history",
            on_schema_change="append_new_columns",
            **config,
        )
        self.pending = self._events()

    def _events(self) -> list[Event]:
        """Events of each key, one at each time, mostly in order. Some occur twice."""
        found: list[Event] = []
        for k in [*range(5), None]:
            for at in self.random.sample(range(60), self.random.randint(2, 14)):
                (op,) = self.random.choices(list(_KINDS), list(_KINDS.values()))
                values = {"a": self.random.randint(0, 2), "b": self.random.choice("pq")}
                key = {"k": k, "j": 0 if k is None else k % 2}
                found.append({**key, **values, "x": None, "s": at, "op": op})
                if op == "UPDATE_BEFORE" and self.random.random() < 0.5:
                    found.append({**found[-1], "op": "UPDATE_AFTER", "a": self.random.randint(0, 2)})
        found += self.random.sample(found, len(found) // 6)
        late = self.random.choice([0, 10, 1000])
        return sorted(found, key=lambda each: each["s"] + self.random.randint(0, late))

    def time_of(self, at: int) -> str:
        """A time of the sequence as SQL."""
        return f"timestamp_seconds({at})" if self.is_time else str(at)

    def send(self, count: int) -> None:
        """Commit the next events."""
        events, self.pending = self.pending[:count], self.pending[count:]
        if self.has_x:  # repeated events do not change
            events = [each if each in self.sent else {**each, "x": self.random.randint(0, 1)} for each in _once(events)]
            known = {(each["k"], each["s"], each["op"]): each for each in [*events, *self.sent]}
            self.pending = [known.get((each["k"], each["s"], each["op"]), each) for each in self.pending]
        if not events:
            return
        self.sent += events
        names = ["k", "j", "a", "b", "s", "op", *(["x"] if self.has_x else [])]

        def value(event: Event, name: str) -> str:
            if name == "s":
                return self.time_of(event["s"])
            return "null" if event[name] is None else repr(event[name])

        rows = ", ".join(f"({', '.join(value(each, name) for name in names)})" for each in events)
        self.shop.sql(f"insert into {self.table} ({', '.join(names)}) values {rows}")

    # Steps between runs

    def arrive(self, *, before: str, rounds: int) -> None:
        """Send a share of the events before a run, after the step ``before`` it. ``rounds``: how many are left."""
        share = len(self.pending) // rounds
        if before == "compact" and self.random.random() < 0.6:
            self.compact()
        self.send(share // 2)
        if before == "add_column" and self.random.random() < 0.6:
            self.add_column()
        self.send(share - share // 2 if rounds > 1 else len(self.pending))

    def add_column(self) -> None:
        """Add a column to the log."""
        if not self.has_x and self.sent:
            self.has_x = True
            self.shop.sql(f"alter table {self.table} add column x int")

    def compact(self) -> None:
        """Compact all tables and expire their old snapshots. No event has been sent since the last run."""
        beside = self.shop.built(f"of_{self.name}__ip_deleted")
        for table in (self.table, self.shop.built(f"of_{self.name}"), beside):
            if self.shop.session.catalog.tableExists(table):
                system = f"call {self.shop.catalog}.system"
                self.shop.sql(f"{system}.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))")
                self.shop.sql(
                    f"{system}.expire_snapshots(table => '{table}', retain_last => 1,"
                    " older_than => timestamp '2100-01-01')"
                )

    def check(self) -> None:
        """Compare the table with the expected versions. Raises WrongVersionsError."""
        built = self.shop.built(f"of_{self.name}")
        columns = self.shop.frame(f"select * from {built}").columns
        deleted = "dbt_is_deleted = 'True'" if self.deletes == "new_record" else "false"

        def time(name: str) -> str:
            return f"unix_seconds({name})" if self.is_time else name

        end = time("dbt_valid_to")
        found = self.shop.sql(
            f"select struct(k, j, a, b, {'x' if 'x' in columns else 'null as x'}, {time('s')} as s),"
            f" {time('dbt_valid_from')}, if({end} = {_END}, null, {end}), {time('dbt_updated_at')}, {deleted},"
            f" dbt_scd_id from {built}"
        )
        assert len({each[5] for each in found}) == len(found), f"{self.name}: ids are not unique"
        rows = Counter((tuple(each[0]), *each[1:5]) for each in found)
        checked = self.check_cols or ("k", "j", "a", "b", "x")
        self.checks += 1
        expected = replayed(self.sent, self.keys, self.deletes, checked)
        if rows != expected:
            raise WrongVersionsError(
                f"{self.name} ({self.deletes}, {self.check_cols}, {self.keys}):"
                f"\n  too many {sorted((rows - expected).items(), key=str)}"
                f"\n  missing {sorted((expected - rows).items(), key=str)}"
            )


def _once(events: Sequence[Event]) -> list[Event]:
    """The events without duplicates."""
    found: list[Event] = []
    for each in events:
        if each not in found:
            found.append(each)
    return found
