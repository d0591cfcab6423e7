"""Plays histories of plain SQL on real tables. After each dbt run, each table is compared with its rebuild.

The histories of a batch are in one project, so that one dbt run serves them all.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import yaml

from tests.functional.fuzz.pipeline import WrongResultError
from tests.functional.incremental.shop import CATALOG, Shop
from tests.functional.incremental.shop import Outcome as Results

from .comparing import Rows, differences, rows_of
from .counts import PlainTally
from .histories import AUTO, BATCH, EPHEMERAL, VIEW, PlainHistory, PlainModel
from .qualify import with_derived_tables, with_qualify
from .sources import REUSED, SCHEMA, Step

STRATEGY = os.environ.get("FUZZ_STRATEGY", "auto")
"""With ``table``, every run rebuilds every model, as a test of the fuzz itself."""

INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
"""Settings with which Spark compiles no code, because compiling takes longer than small queries."""

_THREADS = 2
_RELATION = re.compile(r"<<(\w+)>>")
_REFUSED = re.compile(r"cannot be updated incrementally.*?Found: ([^\n]*)", re.DOTALL)
"""The text of a NotIncrementalError, and the construct that it names."""
_CALL = re.compile(r"^An error occurred while calling \S+ : ")
_DATA = re.compile(r"'[^']*'|`[^`]*`|\b(h\d+_\w+|\d+)\b")


@dataclass
class PlayedHistory:
    """A history that is being played. ``models``: those that still run. ``log``: the steps of its sources."""

    history: PlainHistory
    models: list[PlainModel]
    log: list[str] = field(default_factory=list)
    is_altered: bool = False
    is_reordered: bool = False
    partitioned: tuple[str, str] = ("", "")
    pinned: dict[str, int] = field(default_factory=dict)
    """The newest snapshots of sources whose names refer to other columns since. Readers see the former columns."""


@dataclass(frozen=True)
class Wrong:
    """A model with a wrong result, and the round of its history."""

    history: PlainHistory
    model: PlainModel
    round: int
    message: str


class PlainPipeline:
    """The histories of a batch, in one project."""

    def __init__(
        self, shop: Shop, histories: Iterable[PlainHistory], seed: int, tally: PlainTally | None = None
    ) -> None:
        self.shop = shop
        self.seed = seed
        self.tally = tally or PlainTally()
        self.played = [PlayedHistory(history, list(history.models)) for history in histories]
        (self.settings,) = {id(each.history.settings): each.history.settings for each in self.played}.values()
        self.wrong: list[Wrong] = []
        self.round = 0

    def play(self) -> None:
        """Play all histories to their ends. Raises WrongResultError if a table does not equal its SQL."""
        with self._settings():
            is_compiled = self.played[0].history.number // BATCH % 4 == 0
            self.shop.configure({**self.settings, **({} if is_compiled else INTERPRETED)})
            self.shop.declare(*(source.name for each in self.played for source in each.history.sources))
            for each in self.played:
                for model in each.models:
                    self._write(each, model)
            for number in range(max(len(each.history.rounds) for each in self.played)):
                self.round = number
                self._each(self._steps)
                for each in self.played:
                    self._redefine(each)
                    self._alter_table(each)
                    self._repartition(each)
                if number == 1:
                    self._read_beside()
                self._run()
            if STRATEGY == "auto":
                self._verify()
        self.tally.histories += len(self.played)
        self.tally.queries += sum(model.kind == AUTO for each in self.played for model in each.history.models)
        if self.wrong:
            raise WrongResultError("\n\n".join(each.message for each in self.wrong))

    def _settings(self) -> Any:
        return _Settings(
            self.shop, {**self.settings, **INTERPRETED, "spark.sql.sources.partitionOverwriteMode": "dynamic"}
        )

    def _each(self, do: Callable[[PlayedHistory], object]) -> None:
        with ThreadPoolExecutor(_THREADS) as pool:
            for _ in pool.map(do, self.played):
                pass

    # Models

    def _write(self, each: PlayedHistory, model: PlainModel) -> None:
        sources = {source.name for source in each.history.sources}
        hidden = self._hidden(model, sources)

        def relation(found: re.Match[str]) -> str:
            name = found[1]
            if name == hidden:
                return f"{CATALOG}.{self.shop.source_schema}.{name}"
            return f"{{{{ source('raw', '{name}') }}}}" if name in sources else f"{{{{ ref('{name}') }}}}"

        written = with_derived_tables if model.kind == VIEW else with_qualify  # Spark reads the text of views
        sql = written(_RELATION.sub(relation, model.sql))
        if model.kind != AUTO:
            self.shop.model(model.name, sql, materialized=model.kind)
        elif STRATEGY == "table":
            self.shop.model(model.name, sql, materialized="table")
        else:
            config = {"incremental_strategy": STRATEGY, "on_history_break": "full_refresh", **dict(model.config)}
            self.shop.model(model.name, sql, **config)

    def _hidden(self, model: PlainModel, sources: Collection[str]) -> str | None:
        """A source that a model names without source(), if it is rebuilt then. None for most models."""
        read = list(dict.fromkeys(_RELATION.findall(model.sql)))
        named = [name for name in read if name in sources]
        is_rebuilt = dict(model.config).get("on_not_incremental") == "full_refresh"
        chance = random.Random(f"hidden/{model.name}").random()
        return named[-1] if is_rebuilt and named and len(read) > 1 and chance < 0.3 else None

    def oracle_sql(self, each: PlayedHistory, model: PlainModel) -> str:
        """The SQL of a model on the current tables."""
        models = {other.name: other for other in each.history.models}
        hidden = self._hidden(model, {source.name for source in each.history.sources})

        def relation(found: re.Match[str]) -> str:
            other = models.get(found[1])
            if other is None and found[1] in each.pinned and found[1] != hidden:
                # Iceberg would prune the newest snapshot by the present names. No condition is pushed below a sample.
                table = f"{CATALOG}.{self.shop.source_schema}.{found[1]}"
                return f"(select * from {table} version as of {each.pinned[found[1]]} tablesample (100 percent))"
            if other is None:
                return f"{CATALOG}.{self.shop.source_schema}.{found[1]}"
            if other.kind == EPHEMERAL:
                return f"({self.oracle_sql(each, other)}\n)"
            return f"{CATALOG}.{self.shop.schema}.{found[1]}"

        return with_derived_tables(_RELATION.sub(relation, model.sql))

    def _leave_out(self, each: PlayedHistory, model: PlainModel, why: str) -> None:
        """Remove a model and all models that read it from the project."""
        left = {model.name}
        for other in each.history.models:
            if left & {*_RELATION.findall(other.sql)}:
                left.add(other.name)
        for other in [other for other in each.models if other.name in left]:
            each.models.remove(other)
            (self.shop.folder / "models" / f"{other.name}.sql").unlink()
            if other.kind == AUTO:
                self.tally.add(self.tally.left_out, why if other is model else "that read one that was left out")

    # Steps

    def _steps(self, each: PlayedHistory) -> None:
        rounds = each.history.rounds
        for name, step in rounds[self.round] if self.round < len(rounds) else ():
            self._step(each, name, step)

    def _step(self, each: PlayedHistory, name: str, step: Step) -> None:
        table = f"{CATALOG}.{self.shop.source_schema}.{name}"
        if step.kind in REUSED and any(model.kind == VIEW for model in each.history.models):
            return  # a view reads the present columns, and models that read the view those of its sources' snapshots
        before = ""
        if any("{before}" in sql for sql in step.statements):
            before = str(self.shop.head(table))
        for statement in step.statements:
            sql = statement.replace("{t}", table).replace("{catalog}", CATALOG).replace("{before}", before)
            each.log.append(f"{sql};")
            try:
                self.shop.sql(sql)
            except Exception as error:
                raise WrongResultError(f"A step of the fuzz is wrong: {sql}\n{error}") from error
        each.is_altered |= step.kind in SCHEMA
        head = self.shop.head(table) if step.kind in REUSED or name in each.pinned else None
        if step.kind in REUSED and head is not None:
            each.pinned.setdefault(name, head)
        if each.pinned.get(name) != head:
            each.pinned.pop(name, None)
        self.tally.add(self.tally.steps, step.kind)

    def _redefine(self, each: PlayedHistory) -> None:
        """Give views other definitions. The oracle reads the views themselves."""
        redefined = each.history.redefined
        new = redefined[self.round] if self.round < len(redefined) else {}
        for model in each.models:
            if model.name in new:
                self._write(each, replace(model, sql=new[model.name]))
                each.log.append(f"-- {model.name} is redefined: {new[model.name]}")
                self.tally.add(self.tally.steps, "redefine a view")

    def _alter_table(self, each: PlayedHistory) -> None:
        """Alter the table of a model by hand: swap two of its columns, or drop one and add it again.

        Iceberg lets neither happen to a column by which the table is partitioned.
        """
        chance = random.Random(f"{self.seed}/{each.history.number}/{self.round}/alter")
        kept = [
            model for model in each.models if model.kind == AUTO and not dict(model.config).get("on_not_incremental")
        ]
        if not self.round or not kept or chance.random() < 0.5 or STRATEGY != "auto":
            return
        altered = chance.choice(kept).name
        table = f"{CATALOG}.{self.shop.schema}.{altered}"
        found = self.shop.frame(f"select * from {table}").dtypes
        columns = [(name, type_) for name, type_ in found if (altered, name) != each.partitioned]
        pairs = [(one, other) for one, its in columns for other, type_ in columns if one < other and its == type_]
        if pairs and chance.random() < 0.6:
            one, other = (f"`{name}`" for name in chance.choice(pairs))
            renames = ((one, "ip_swapped"), (other, one), ("ip_swapped", other))
            statements = [f"rename column {old} to {new}" for old, new in renames]
        elif columns and len(found) > 1:
            name, type_ = chance.choice(columns)
            type_ = "timestamp_ltz" if type_ == "timestamp" else type_  # with spark.sql.timestampType: TIMESTAMP_NTZ
            statements = [f"drop column `{name}`", f"add column `{name}` {type_}"]
        else:
            return
        for statement in statements:
            sql = f"alter table {table} {statement}"
            each.log.append(f"{sql};")
            self.shop.sql(sql)
        each.is_reordered = True
        self.tally.add(self.tally.steps, "alter a table")

    def _repartition(self, each: PlayedHistory) -> None:
        """Partition the table of a model that no other model reads. Later, remove the partitioning with its column."""
        chance = random.Random(f"{self.seed}/{each.history.number}/partition")
        first = chance.choice((1, 2))
        if STRATEGY != "auto" or self.round not in (first, first + 1):
            return
        if self.round == first:
            read = {name for model in each.history.models for name in _RELATION.findall(model.sql)}
            last = [model for model in each.models if model.kind == AUTO and model.name not in read]
            last = [model for model in last if "on_not_incremental" not in dict(model.config)]
            if not last:
                return
            model = chance.choice(last)
            types = self.shop.frame(f"select * from {CATALOG}.{self.shop.schema}.{model.name}").dtypes
            names = [name for name, type_ in types if type_ in ("int", "date", "string")]
            if len(types) < 2 or not names:
                return
            each.partitioned = (model.name, chance.choice(names))
            by = f"`{each.partitioned[1]}`"
            partitioned = replace(model, config=(*model.config, ("partition_by", by)))
            self._replace(each, model, partitioned)
            self.shop.dbt("run", "--quiet", "--full-refresh", "--select", model.name)
            return
        name, column = each.partitioned
        for model in [model for model in each.models if model.name == name]:
            config = tuple((key, value) for key, value in model.config if key not in ("partition_by", "unique_key"))
            sql = f"select * except (`{column}`) from ({model.sql}\n) as ip_unpartitioned"
            self._replace(each, model, replace(model, sql=sql, config=config))
            self.tally.add(self.tally.steps, "edit a partitioning away")

    def _replace(self, each: PlayedHistory, model: PlainModel, edited: PlainModel) -> None:
        each.models[each.models.index(model)] = edited
        self._write(each, edited)
        each.log.append(f"-- {model.name} is edited: {dict(edited.config)}: {edited.sql}")

    def _read_beside(self) -> None:
        """Let another model read a model's table as a source, so that its cut is taken before the model is built.

        The models that read the model by ref() must see its new rows. The other model may not, and is not compared.
        """
        found = []
        for each in self.played:
            read = {name for model in each.models for name in _RELATION.findall(model.sql)}
            kept = [model.name for model in each.models if model.kind == AUTO and model.name in read]
            if kept and STRATEGY == "auto":
                found.append({"name": kept[0]})
                sql = f"select count(*) as n from {{{{ source('own', '{kept[0]}') }}}}"
                self.shop.model(f"h{each.history.number}_beside", sql, incremental_strategy="auto")
        declared = {"name": "own", "database": CATALOG, "schema": self.shop.schema, "tables": found}
        if found:
            self.shop.write("models/own.yml", yaml.safe_dump({"sources": [declared]}))
            self.tally.add(self.tally.steps, "read beside")

    # Runs

    def _run(self) -> None:
        if all(model.kind == EPHEMERAL for each in self.played for model in each.models):
            return
        results = self.shop.dbt("run", "--quiet")
        self.tally.runs += 1
        for each in self.played:
            each.log.append(f"-- dbt run, round {self.round}")
        if not results.nodes:
            raise WrongResultError(f"dbt did not run: {results.exception}\n{results.printed[-3000:]}")
        self._each(partial(self._check_all, results))

    def _check_all(self, results: Results, each: PlayedHistory) -> None:
        for model in list(each.models):
            if model in each.models:
                try:
                    self._check(results, each, model)
                except Exception as error:  # noqa: BLE001 (one model reports its error; the others continue)
                    self._is_wrong(each, model, f"it broke off: {error!r}")

    def _check(self, results: Results, each: PlayedHistory, model: PlainModel) -> None:
        if model.kind == EPHEMERAL:
            return
        if model.name not in results.nodes:
            self._is_wrong(each, model, f"dbt did not get to it: {results.exception}\n{results.printed[-2000:]}")
            return
        status, message = str(results.nodes[model.name].status), results.message(model.name)
        if status == "skipped":
            self._leave_out(each, model, "that dbt skipped")
            return
        try:
            types, rows = rows_of(self.shop.session, self.oracle_sql(each, model))
        except Exception as error:  # noqa: BLE001 (the generator wrote SQL that Spark cannot run)
            first = _CALL.sub("", " ".join(str(error).split()))[:100]
            each.log.append(f"-- {model.name} is invalid: {first}: {self.oracle_sql(each, model)}")
            self._leave_out(each, model, f"invalid ({first})" if self.round == 0 else "invalid by now")
            return
        if status != "success":
            self._failed(each, model, message)
        elif model.kind == AUTO:
            self._compare(results, each, model, types, rows)

    def _verify(self) -> None:
        """Have ``ip_verify`` compare the correct tables. It must not report any as wrong."""
        found = self.shop.verified(fails=None)
        for each in self.played:
            for model in [model for model in each.models if model.name in found]:
                result = found[model.name]["result"]
                self.tally.add(self.tally.verified, result)
                if result == "differs" and not model.must_be_refused:
                    self._is_wrong(each, model, f"ip_verify takes it for wrong: {found[model.name]}")

    def _failed(self, each: PlayedHistory, model: PlainModel, message: str) -> None:
        if model.kind == VIEW:
            self._leave_out(each, model, "a view that failed")
        elif "is a view; expected an Iceberg table" in message:
            self.tally.add(self.tally.refused, "a view")
            self._leave_out(each, model, "refused")
        elif refusal := _REFUSED.search(message):
            self.tally.add(self.tally.refused, _DATA.sub("…", refusal[1])[:100])
            self._leave_out(each, model, "refused")
        elif each.is_altered:
            self._leave_out(each, model, f"failed after a change of columns ({reason_of(message)})")
        else:
            self._is_wrong(each, model, f"it failed: {message}")

    def _compare(
        self, results: Results, each: PlayedHistory, model: PlainModel, types: list[tuple[str, str]], rows: Rows
    ) -> None:
        if model.must_be_refused:  # its rows may differ each time
            if STRATEGY == "auto":
                self._is_wrong(each, model, f"it was not refused, although it has {model.reason}")
            return
        found_types, found = rows_of(self.shop.session, f"select * from {CATALOG}.{self.shop.schema}.{model.name}")
        if (each.is_altered or each.is_reordered) and found_types != types:
            rows, found = _common(types, rows, found_types, found)
        elif found_types != types:
            self._is_wrong(each, model, f"its columns are {found_types}, expected {types}")
            return
        if rows != found:
            self._is_wrong(each, model, "\n".join(["its rows are wrong:", *differences(rows, found)]))
            return
        how = (results.nodes[model.name].adapter_response or {}).get("code", "built")
        self.tally.add(self.tally.compared, f"{how}{'' if rows else ', empty'}")

    def _is_wrong(self, each: PlayedHistory, model: PlainModel, what: str) -> None:
        """Record the error, remove the model, and continue with the others."""
        number = each.history.number
        lines = [
            f"{model.name} in round {self.round}: {what}",
            f"Play history {number} alone: FUZZ_SEED={self.seed} FUZZ_ROUNDS={len(each.history.rounds)} "
            f"FUZZ_ONLY={number} pytest tests/functional/fuzz/test_plain_sql.py",
            f"Config: {dict(model.config)}; settings: {each.history.settings}",
            f"SQL: {self.oracle_sql(each, model)}",
            "What was done:",
            *(f"  {line}" for line in each.log),
        ]
        self.wrong.append(Wrong(each.history, model, self.round, "\n".join(lines)))
        self._leave_out(each, model, "wrong")


class _Settings:
    """Settings of the session in which steps and comparisons run. The profile's own values are restored at the end."""

    def __init__(self, shop: Shop, values: Mapping[str, str]) -> None:
        self.shop, self.values = shop, values
        self._before = {key: shop.session.conf.get(key, None) for key in values}

    def __enter__(self) -> None:
        for key, value in self.values.items():
            self.shop.sql(f"set {key} = {value}")

    def __exit__(self, *_: object) -> None:
        for key, value in self._before.items():
            self.shop.sql(f"reset {key}" if value is None else f"set {key} = {value}")


def reason_of(message: str) -> str:
    """The beginning of an error, without the names and numbers of one model."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    said = lines[1] if len(lines) > 1 and " Error in model" in lines[0] else lines[0] if lines else "?"
    return _DATA.sub("…", said)[:100]


def _common(
    types: list[tuple[str, str]], rows: Rows, found_types: list[tuple[str, str]], found: Rows
) -> tuple[Rows, Rows]:
    """Reduce both to their common columns. A struct may have an additional field."""
    names, found_names = [name for name, _ in types], [name for name, _ in found_types]
    both = [
        name for name, type_ in found_types if name in names and ("struct" not in type_ or dict(types)[name] == type_)
    ]

    def reduced(all_names: list[str], given: Rows) -> Rows:
        places = [all_names.index(name) for name in both]
        result: Rows = Counter()
        for row, n in given.items():
            result[tuple(row[place] for place in places)] += n
        return result

    return reduced(names, rows), reduced(found_names, found)
