"""Plays histories on real tables, with dbt runs in between. After each run, each model is compared with the oracle.

One project contains the sources and models of several histories, so that one dbt run serves them all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

from tests.functional.incremental.shop import CATALOG, Shop
from tests.functional.incremental.shop import Outcome as Results

from . import row_steps, table_steps
from .histories import History, Step, window
from .kinds import Rows
from .looking import metadata
from .oracle import Failure, Model, Outcome
from .reading import read_as
from .sources import Source, day_of, whole
from .tables import NOTHING, REWRITE, Metadata, Table
from .tally import Tally
from .target_steps import evolve_sql, rollback_sql, target_sql

_STEPS = {**row_steps.STEPS, **table_steps.STEPS}
_THREADS = 3
_WAP_OFF = (
    "{% if is_incremental() %} alter table {{ this }} set tblproperties ('write.wap.enabled'='false') {% endif %}"
)
_JAVA = re.compile(r"^\s*at [\w.$]+\(|Py4J|java\.lang\.|Traceback", re.MULTILINE)


class WrongResultError(AssertionError):
    """The result of a model is wrong. The message contains all steps that lead to it."""


class Played:
    """A history that is being played: its source, its models in the order in which dbt builds them, and a log."""

    def __init__(self, history: History, shop: Shop) -> None:
        self.history = history
        self.log: list[str] = []
        name = history.name
        self.source = Source(f"{CATALOG}.{shop.source_schema}.{name}", history.variant, shop.folder / "files" / name)
        self.models: list[Model] = []
        shop.declare(name, config={"event_time": "day"})
        for number, choice in enumerate(history.models):
            kind = choice.kind
            inputs: dict[str, Table] = {"source": self.source} if kind.source else {}
            relations = {"SOURCE": f"source('raw', '{name}')"}
            if choice.parent is not None:
                parent = self.models[choice.parent]
                inputs["parent"] = parent.table
                relations["PARENT"] = f"ref('{parent.name}')"
            model = f"{name}_{number}_{kind.name}"
            sql = kind.sql
            for word, relation in relations.items():
                sql = sql.replace(word, relation)
            config = {**kind.config, "on_source_rewrite": choice.on_source_rewrite}
            if choice.on_history_break:
                config["on_history_break"] = choice.on_history_break
            if choice.limit:
                config["max_snapshots_per_run"] = choice.limit
            if kind.day_at is not None:
                config["event_time"] = "day"
            hooks = [f"set {key} = {value}" for key, value in history.settings.values.items()]
            hooks = history.settings.hooks
            if history.wap_off:
                hooks.append(_WAP_OFF)
            if hooks:
                config["pre_hook"] = hooks
            shop.model(model, sql, **config)
            self.log.append(f"-- model {model}, {config}: {' '.join(sql.split())}")
            table = Table(f"{CATALOG}.{shop.schema}.{model}", day_at=kind.day_at)
            self.models.append(Model(model, choice, inputs, table, self.source, refused=history.settings.refused))


class Pipeline:
    """Several histories in one project."""

    def __init__(self, shop: Shop, histories: Iterable[History], seed: int, tally: Tally | None = None) -> None:
        self.shop = shop
        self.session = shop.frame("select 1").sparkSession
        self.seed = seed
        self.tally = tally or Tally()
        self.wrong: dict[int, str] = {}
        self.played = [Played(history, shop) for history in histories]
        (self.settings,) = {id(each.history.settings): each.history.settings for each in self.played}.values()
        shop.configure(self.settings.of_profile)

    def play(self) -> None:
        """Play all histories to their ends. Raises WrongResultError if the result of a model is wrong.

        A history ends with its first wrong model. The other histories continue.
        """
        self.shop.sql(f"set spark.sql.caseSensitive = {str(self.settings.has_twins).lower()}")
        try:
            readings = {each.history.name: each.history.reading for each in self.played}
            with self.shop.dynamic_overwrites(), read_as(readings, self.tally):
                self._play()
        finally:
            self.shop.sql("reset spark.sql.caseSensitive")
        self._end()

    def steps_only(self) -> None:
        """Play all steps, and run no dbt."""
        with self.shop.dynamic_overwrites():
            self._each(self._create)
            for number in range(max(len(each.history.rounds) for each in self.played)):
                self._each(partial(self._steps, number))
        self._end()

    def _end(self) -> None:
        self.tally.histories += len(self.played)
        if self.wrong:
            raise WrongResultError("\n\n".join(self.wrong.values()))

    def _play(self) -> None:
        self._each(self._create)
        for number in range(max(len(each.history.rounds) for each in self.played)):
            self._each(partial(self._steps, number))
            failed = self._run()
            self._go_on(number, failed)
            self._process_again(number)

    def _each(self, do: Callable[[Played], object]) -> None:
        """Call a function for each history without a wrong result so far."""

        def guarded(each: Played) -> None:
            try:
                do(each)
            except WrongResultError as error:
                self.wrong[each.history.number] = str(error)
            except Exception as error:  # noqa: BLE001 (one history reports its error; the others continue)
                self.wrong[each.history.number] = str(self._wrong(each, f"It broke off: {error!r}"))

        with ThreadPoolExecutor(_THREADS) as pool:
            for _ in pool.map(guarded, [each for each in self.played if each.history.number not in self.wrong]):
                pass

    # Steps

    def _create(self, each: Played) -> None:
        self._sql(each, each.source.create())
        each.source.observe(self.look(each.source))

    def _steps(self, number: int, each: Played) -> None:
        for step in each.history.rounds[number].steps:
            if step.kind.endswith("_target"):
                self._target_step(each, step)
            else:
                self._source_step(each, step)
        source = each.source
        found = self._rows(each, source)
        width = len(source.columns)
        expected = Counter[Any]()
        for row, n in source.rows.items():
            expected[row[:width]] += n
        if found != expected:
            raise self._wrong(each, f"the oracle is wrong about {source.name}", found, [expected])

    def _source_step(self, each: Played, step: Step) -> None:
        source = each.source
        effect = _STEPS[step.kind](source, step.numbers)
        if effect is None:
            return
        for sql in filter(None, (effect.first, effect.sql)):
            self._sql(each, sql)
        if effect.by_library is not None and not effect.by_library(self.session):
            return
        self.tally.add(self.tally.steps, step.kind)
        seen = self.look(source)
        if seen.head is not None and seen.head not in source.held:
            source.touched[seen.head] = effect.touched
        if effect.rows is None:
            assert seen.head == effect.back_to
            source.observe(seen)
        elif effect.commit is REWRITE and source.rewrites_a_file_twice:
            source.record(seen, Counter({whole(row): n for row, n in self._rows(each, source).items()}), REWRITE)
        else:
            source.record(seen, effect.rows, effect.commit)

    def _target_step(self, each: Played, step: Step) -> None:
        model = each.models[step.numbers[0] % len(each.models)]
        table = model.table
        if table.head is None and step.kind != "evolve_target":
            return
        if step.kind == "rollback_target":
            older = [snapshot for snapshot in table.ancestors(table.head)[1:] if snapshot in model.states]
            if not older:
                return
            self._sql(each, rollback_sql(table, older[step.numbers[1] % len(older)]))
            model.rolled_back(self.look(table))
        elif step.kind == "evolve_target":
            overwriting = [model for model in each.models if model.overwrites and model.table.head is not None]
            if not overwriting:
                return
            model = overwriting[step.numbers[0] % len(overwriting)]
            for sql in evolve_sql(model, step.numbers[1]):
                self._sql(each, sql)
            model.table.record(self.look(model.table), model.table.rows, NOTHING)
        else:
            self._sql(each, target_sql(table, step))
            table.record(self.look(table), table.rows, NOTHING)
        self.tally.add(self.tally.steps, step.kind)

    def _sql(self, each: Played, sql: str) -> None:
        each.log.append(f"{sql};")
        if not sql.startswith("--"):
            self.shop.sql(sql)

    # Runs

    def _run(self, full_refresh: Iterable[Model] = ()) -> list[tuple[Played, Model, Failure]]:
        """Run dbt, and compare each model that ran; returns the models that failed as expected."""
        chosen = [model.name for model in full_refresh]
        arguments = ["run", "--quiet", *(["--full-refresh", "--select", *chosen] if chosen else [])]
        announced = {} if chosen else self.shop.statuses()
        results = self.shop.dbt(*arguments)
        self.tally.runs += 1
        failed: list[tuple[Played, Model, Failure]] = []

        def check(each: Played) -> None:
            ran = [model for model in each.models if not chosen or model.name in chosen]
            if ran:
                named = f" --full-refresh --select {' '.join(model.name for model in ran)}" if chosen else ""
                each.log.append(f"-- dbt run{named}")
            for model in ran:
                outcomes = partial(model.outcomes, full_refresh=bool(chosen))
                failure = self._check(each, model, results, outcomes)
                if failure is not None:
                    failed.append((each, model, failure))
                if model.name in announced and all(isinstance(table, Source) for table in model.inputs.values()):
                    self._was_announced(each, model, announced[model.name]["action"], results)

        self._each(check)
        return failed

    def _was_announced(self, each: Played, model: Model, announced: str, results: Results) -> None:
        """Compare the next run that ``ip_status`` announced with the actual run. For models that read sources alone.

        A run may fail for reasons that the metadata do not show, such as two rows with one key.
        """
        if results.nodes[model.name].status == "success":
            action = results.action(model.name)
            if announced != action:
                raise self._wrong(each, f"{model.name} was announced as '{announced}', and its run came to '{action}'")

    def _process_again(self, number: int) -> None:
        """After some rounds, process days again in all models that support it. A model that fails stays unchanged."""
        days = window(self.seed, number)
        if days is None:
            return
        first, last = map(day_of, days)
        given = ["--event-time-start", str(first), "--event-time-end", str(last + timedelta(days=1))]
        chosen = {
            each.history.number: [model for model in each.models if model.choice.kind.may_reprocess and model.state]
            for each in self.played
        }
        names = [model.name for models in chosen.values() for model in models]
        if not names:
            return
        results = self.shop.dbt("run", "--quiet", "--select", *names, *given)
        self.tally.runs += 1

        def check(each: Played) -> None:
            models = chosen[each.history.number]
            each.log.append(f"-- dbt run --select {' '.join(model.name for model in models)} {' '.join(given)}")
            for model in models:
                outcomes = partial(model.window_outcomes, (first, last))
                self._check(each, model, results, outcomes, is_again=True)

        self._each(check)

    def _check(
        self,
        each: Played,
        model: Model,
        results: Results,
        outcomes_of: Callable[[], list[Outcome]],
        *,
        is_again: bool = False,
    ) -> Failure | None:
        """Compare a model with the possible outcomes of its run. ``is_again``: it commits even without new rows."""
        if model.name not in results.nodes:
            raise WrongResultError(f"dbt did not get to {model.name}: {results.exception}\n{results.printed[-3000:]}")
        status, message = str(results.nodes[model.name].status), results.message(model.name)
        table, before = model.table, model.table.seen
        seen = self.look(table)
        is_untouched = (seen.head, seen.checkpoint) == (before.head, before.checkpoint)
        if status == "skipped":
            if not is_untouched:
                raise self._wrong(each, f"{model.name} was skipped, and yet has changed")
            return None
        outcomes = outcomes_of()
        if status != "success":
            return self._failed(each, model, message, outcomes, is_untouched=is_untouched)
        rows = table.rows if seen.head == before.head else self._rows(each, table, is_star=model.choice.kind.is_star)
        began_anew = seen.head != before.head and seen.parents.get(seen.head or 0) is None
        fitting = [
            outcome
            for outcome in outcomes
            if outcome.failure is None and outcome.rows == rows and outcome.is_rebuild is began_anew
        ]
        if not fitting:
            how = "was rebuilt" if began_anew else "was continued"
            raise self._wrong(each, f"{model.name} {how}", rows, outcomes)
        self._count(each, model, fitting[0], results.ip(model.name)["sources"])
        positions = {name: relation.head for name, relation in model.inputs.items()}
        is_known = model.state is not None and model.state.positions == positions
        if seen.head != before.head and not began_anew and is_known and not is_again:
            raise self._wrong(each, f"{model.name} was committed to, though nothing was new")
        model.ran(seen, fitting[0])
        how = "rebuilt" if began_anew else "applied" if seen.head != before.head else "left as they were"
        how = "processed again" if is_again and how == "applied" else how
        self.tally.add(self.tally.checks, how)
        return None

    def _count(self, each: Played, model: Model, outcome: Outcome, said: dict[str, dict[str, Any]]) -> None:
        """Compare the number of rows that a run reports as read with the correct number."""
        for name, records in outcome.records.items():
            found = said[model.inputs[name].name]
            expected = records.get(found["kind"], found["records"])
            at_most = found.get("records_at_most") or model.inputs[name].may_count_too_many
            if found["records"] < expected or (found["records"] > expected and not at_most):
                what = f"{model.name} says that it read {found['records']} rows of {name} ({found['kind']})"
                raise self._wrong(each, f"{what}, and there are {expected}")

    def _failed(
        self, each: Played, model: Model, message: str, outcomes: list[Outcome], *, is_untouched: bool
    ) -> Failure:
        each.log.append(f"--   {model.name} fails: {message.splitlines()[-1] if message else ''}")
        if not is_untouched:
            raise self._wrong(each, f"{model.name} failed, and yet its table has changed: {message}")
        for outcome in outcomes:
            if outcome.failure is not None and outcome.failure.words in message and not _JAVA.search(message):
                self.tally.add(self.tally.checks, "failed as they should")
                return outcome.failure
        raise self._wrong(each, f"{model.name} failed: {message}", None, outcomes)

    def _go_on(self, number: int, failed: list[tuple[Played, Model, Failure]]) -> None:
        """Apply one of the fixes that the error names. The next round continues from there."""
        rebuilt = []
        for each, model, failure in failed:
            way = each.history.rounds[number].remedy
            if each.history.number in self.wrong:
                continue
            name = next((name for name, table in model.inputs.items() if table is failure.table), None)
            by_hand = way == "set_checkpoint" and failure.ancestor is not None
            if by_hand and name is not None and not model.choice.reads_net(name):
                arguments = {"model": model.name, "source": model.inputs[name].name, "snapshot_id": failure.ancestor}
                each.log.append(f"-- dbt run-operation ip_set_checkpoint --args '{arguments}'")
                done = self.shop.operation("ip_set_checkpoint", **arguments)
                if not done.success:
                    raise self._wrong(each, f"ip_set_checkpoint failed: {done.printed}")
                assert failure.ancestor is not None
                model.adopt(name, failure.ancestor)
                model.table.observe(self.look(model.table))
                self.tally.add(self.tally.checks, "set by hand")
            elif way != "wait":
                rebuilt.append(model)
        if rebuilt:
            self._run(full_refresh=rebuilt)

    # Inspection

    def _rows(self, each: Played, table: Table, *, is_star: bool = False) -> Rows:
        """The rows of a table, with numbers in place of spelled keys. ``is_star``: with the column names."""
        variant = each.history.variant
        spelled = {"id": variant.id, "last_id": variant.id, "k": variant.k}
        names = [name for name in self.shop.frame(f"select * from {table.name}").columns if name != "K"]
        shown = [spelled[name].shown.format(name) if name in spelled else f"`{name}`" for name in names]
        found: Counter[tuple[Any, ...]] = Counter()
        for row in self.shop.sql(f"select {', '.join(shown)} from {table.name}"):
            numbers: list[Any] = [
                spelled[name].number(value) if name in spelled else value
                for name, value in zip(names, row, strict=True)
            ]
            found[tuple(sorted(zip(names, numbers, strict=True))) if is_star else tuple(numbers)] += 1
        return found

    def look(self, table: Table) -> Metadata:
        """A table's metadata, from Iceberg's own library in Spark's process."""
        return metadata(self.session, table.name)

    def _wrong(
        self, each: Played, what: str, found: Rows | None = None, expected: Iterable[Outcome | Rows] = ()
    ) -> WrongResultError:
        number = each.history.number
        lines = [
            f"{what}.",
            f"History {number} of seed {self.seed} ({each.history.variant}, {self.settings}, "
            f"read {each.history.reading.value}); play it alone with: "
            f"FUZZ_SEED={self.seed} FUZZ_ROUNDS={len(each.history.rounds)} FUZZ_ONLY={number} "
            "pytest tests/functional/fuzz/test_fuzz.py",
        ]
        for outcome in expected:
            if isinstance(outcome, Outcome) and outcome.failure is not None:
                lines.append(f"Expected: a failure that says {outcome.failure.words!r}.")
                continue
            rows = outcome.rows if isinstance(outcome, Outcome) else outcome
            how = " by a rebuild" if isinstance(outcome, Outcome) and outcome.is_rebuild else ""
            lines.append(f"Expected{how}: {_listed(rows)}")
            if found is not None:
                lines.append(f"  missing: {_listed(rows - found)}; too many: {_listed(found - rows)}")
        if found is not None:
            lines.append(f"Found: {_listed(found)}")
        return WrongResultError("\n".join([*lines, "What was done:", *each.log]))


def _listed(rows: Rows) -> str:
    return "{" + ", ".join(sorted(f"{row}" + (f" x{n}" if n > 1 else "") for row, n in rows.items())) + "}"
