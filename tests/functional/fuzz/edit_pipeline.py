"""Plays histories of edited models on real tables. After each run, each model is compared with the oracle.

All models of a batch are in one project and read the same sources, so that one dbt run serves them all.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

from tests.functional.incremental.shop import CATALOG, Shop
from tests.functional.incremental.shop import Outcome as Results

from .edit_histories import BATCH, EditHistory, batch_rounds, edit_history, edited
from .edit_oracle import EditedTable, Outcome
from .edit_sources import LOG, MIRROR, STREAM, SharedSource
from .edit_values import Value
from .looking import metadata
from .pipeline import WrongResultError
from .tables import Metadata
from .tally import Tally

_THREADS = 3
_RAW = re.compile(r"^\s*at [\w.$]+\(|Py4J|Traceback", re.MULTILINE)


class EditedModel:
    """A model of a history that is being played. ``before``: the last spec of a successful run."""

    def __init__(self, history: EditHistory, shop: Shop) -> None:
        self.history = history
        self.spec = self.before = history.first
        self.table = EditedTable()
        self.seen = Metadata(None, {})
        self.name = f"{CATALOG}.{shop.schema}.{history.first.name}"
        self.log: list[str] = []


class EditPipeline:
    """The histories of one batch, in one project."""

    def __init__(self, shop: Shop, numbers: Iterable[int], seed: int, rounds: int, tally: Tally | None = None) -> None:
        histories = [edit_history(seed, number, rounds) for number in numbers]
        (batch,) = {history.number // BATCH for history in histories}
        self.shop = shop
        self.session = shop.frame("select 1").sparkSession
        self.seed = seed
        self.tally = tally or Tally()
        self.wrong: dict[int, str] = {}
        self.rounds = batch_rounds(seed, batch, rounds)
        self.sources = {
            kind: SharedSource(kind, f"{CATALOG}.{shop.source_schema}.{kind}", random.Random(f"{seed} {kind} {batch}"))
            for kind in (STREAM, MIRROR, LOG)
        }
        self.models = [EditedModel(history, shop) for history in histories]

    def play(self) -> None:
        """Play all histories to their ends. Raises WrongResultError if the result of a model is wrong."""
        self.shop.declare(*self.sources)
        for source in self.sources.values():
            self.shop.sql(source.create_sql())
        for number, shared in enumerate(self.rounds):
            for kind, count in shared.commits.items():
                for _ in range(count):
                    self.shop.sql(self.sources[kind].commit())
            self._each(partial(self._edit, number))
            if number:  # one by one: a process can have only one dbt invocation at a time
                for model in [each for each in self._right if each.history.rounds[number].accepts]:
                    self._each(self._accept, [model])
            self._run()
            if shared.again:
                self._run()
            self._go_on(number)
        self.tally.histories += len(self.models)
        if self.wrong:
            raise WrongResultError("\n\n".join(self.wrong.values()))

    @property
    def _right(self) -> list[EditedModel]:
        return [model for model in self.models if model.history.number not in self.wrong]

    def _each(self, do: Callable[[EditedModel], object], models: Iterable[EditedModel] | None = None) -> None:
        """Call a function for each of the models without a wrong result so far."""

        def guarded(model: EditedModel) -> None:
            try:
                do(model)
            except WrongResultError as error:
                self.wrong[model.history.number] = str(error)
            except Exception as error:  # noqa: BLE001 (one history reports its error; the others continue)
                self.wrong[model.history.number] = str(self._wrong(model, f"It broke off: {error!r}"))

        with ThreadPoolExecutor(_THREADS) as pool:
            for _ in pool.map(guarded, self._right if models is None else models):
                pass

    # Edits

    def _edit(self, number: int, model: EditedModel) -> None:
        played = model.history.rounds[number]
        for kind, seed in played.edits if number else ():
            model.spec = edited(model.spec, kind, seed)
            self.tally.add(self.tally.steps, kind)
        self._write(model)
        source = self.sources[model.spec.source]
        model.log.append(
            f"-- round {number}: {source.kind} at commit {source.head}; {model.spec.config}, vars "
            f"{model.spec.variables}, macro {model.spec.macro!r}, ephemeral {model.spec.ephemeral!r}\n{model.spec.sql}"
        )

    def _write(self, model: EditedModel) -> None:
        spec = model.spec
        self.shop.model(spec.name, spec.sql, **spec.config)
        self.shop.write(f"macros/value_of_{spec.name}.sql", spec.macro)
        self.shop.write(f"models/n_{spec.name}.sql", spec.ephemeral)

    def _accept(self, model: EditedModel) -> None:
        if model.table.contents is None or model.spec.broken:
            return
        arguments = {"model": model.spec.name, "accept_sql": True}
        done = self._dbt("run-operation", "ip_set_checkpoint", "--args", json.dumps(arguments))
        model.log.append(f"-- dbt run-operation ip_set_checkpoint --args '{arguments}'")
        if not done.success:
            raise self._wrong(model, f"ip_set_checkpoint failed: {done.printed[-2000:]}")
        model.seen = metadata(self.session, model.name)
        model.table = replace(model.table.accepted(model.spec), epoch=_epoch(model.seen))
        self.tally.add(self.tally.checks, "accepted")

    # Runs

    def _dbt(self, *arguments: str) -> Results:
        variables: dict[str, int] = {}
        for model in self.models:
            variables |= model.spec.variables
        return self.shop.dbt(*arguments, "--quiet", "--vars", json.dumps(variables))

    def _run(self, full_refresh: Iterable[EditedModel] = ()) -> None:
        """Run dbt, and compare each model that ran, and then its status."""
        chosen = list(full_refresh)
        named = ["--full-refresh", "--select", *(model.spec.name for model in chosen)] if chosen else []
        excluded = [model.spec.name for model in self.models if model.history.number in self.wrong]
        results = self._dbt("run", *named, *(["--exclude", *excluded] if excluded else []))
        self.tally.runs += 1
        ran = chosen or self._right
        self._each(lambda model: self._check(model, results, full_refresh=bool(chosen)), ran)
        statuses = self._statuses()
        self._each(lambda model: self._check_status(model, statuses), [each for each in ran if each in self._right])

    def _statuses(self) -> Mapping[str, Mapping[str, Any]]:
        printed = self._dbt("run-operation", "ip_status", "--args", json.dumps({"format": "json"})).printed
        found, _ = json.JSONDecoder().raw_decode(printed, printed.index('{\n  "version"'))
        return {status["name"]: status for status in found["models"]}

    def _check(self, model: EditedModel, results: Results, *, full_refresh: bool) -> None:
        spec, before = model.spec, model.table
        model.log.append("-- dbt run" + (" --full-refresh" if full_refresh else ""))
        if spec.name not in results.nodes:
            raise self._wrong(model, f"dbt did not get to it: {results.exception}\n{results.printed[-3000:]}")
        outcome = before.outcome(spec, self.sources[spec.source], full_refresh=full_refresh)
        status, message = str(results.nodes[spec.name].status), results.message(spec.name)
        seen = metadata(self.session, model.name)
        is_touched = (seen.head, seen.checkpoint) != (model.seen.head, model.seen.checkpoint)
        if status != "success":
            self._failed(model, outcome, message, is_touched=is_touched)
        else:
            self._succeeded(model, outcome, seen)
        self._check_warning(model, outcome, results, succeeded=status == "success")

    def _failed(self, model: EditedModel, outcome: Outcome, message: str, *, is_touched: bool) -> None:
        model.log.append(f"--   fails: {message}")
        if is_touched:
            raise self._wrong(model, "It failed, and yet its rows or its checkpoint have changed", outcome)
        found = [words for words in outcome.errors | outcome.may_fail if words in message]
        if not found or _RAW.search(message):
            raise self._wrong(model, f"It failed: {message}", outcome)
        if model.table.contents is not None:
            after = model.table.failed(model.spec, self._types(model))
            if after is None:
                raise self._wrong(model, f"It failed, and its table has the columns {self._types(model)}", outcome)
            model.table = after
        self.tally.add(self.tally.checks, f"failed ({found[0].strip()})")

    def _succeeded(self, model: EditedModel, outcome: Outcome, seen: Metadata) -> None:
        if outcome.errors or outcome.after is None or outcome.after.contents is None:
            rows = self._rows(model, self._types(model))
            raise self._wrong(model, "It succeeded", outcome, rows)
        contents = outcome.after.contents
        is_rebuilt = seen.head != model.seen.head and seen.parents.get(seen.head or 0) is None
        if is_rebuilt is not outcome.is_rebuild:
            raise self._wrong(model, f"It was {'rebuilt' if is_rebuilt else 'continued'}", outcome)
        if seen.head != model.seen.head and not outcome.writes:
            raise self._wrong(model, "It was committed to, though nothing was new", outcome)
        types = self._types(model)
        if types != contents.types:
            raise self._wrong(model, f"It has the columns {types}, expected {contents.types}", outcome)
        if seen.head != model.seen.head:
            rows = self._rows(model, contents.types)
            if rows != contents.counted:
                raise self._wrong(model, "Its rows are wrong", outcome, rows)
        elif outcome.writes and model.table.contents and contents.counted != model.table.contents.counted:
            raise self._wrong(model, "Nothing was written", outcome)
        model.seen, model.before = seen, model.spec
        model.table = replace(outcome.after, epoch=_epoch(seen))
        how = "rebuilt" if is_rebuilt else "applied" if outcome.writes else "left as they were"
        self.tally.add(self.tally.checks, how)

    def _check_warning(self, model: EditedModel, outcome: Outcome, results: Results, *, succeeded: bool) -> None:
        """A warning must name the epoch. A run that fails while its SQL is compiled does not log it."""
        name = f"model.shop.{model.spec.name}"
        lines = (
            rf"The logic of {name} has changed since run (\d+)\. ",
            rf"Rows of {name} up to run (\d+) were written",
        )
        said = [int(found) for line in lines for found in re.findall(line, results.printed)]
        expected = int(outcome.warns is not None)
        if any(epoch != outcome.warns for epoch in said) or (succeeded and len(said) != expected):
            raise self._wrong(model, f"Its warnings name the runs {said}, expected {outcome.warns}", outcome)

    def _check_status(self, model: EditedModel, statuses: Mapping[str, Mapping[str, Any]]) -> None:
        found = statuses[model.spec.name]
        expected = model.table.shown(model.spec, self.sources[model.spec.source])
        if found["logic_changed_since"] != expected:
            raise self._wrong(
                model, f"ip_status has logic_changed_since {found['logic_changed_since']}, not {expected}"
            )

    def _go_on(self, number: int) -> None:
        """After a failure, follow the history: revert the edit, accept it, rebuild, or wait."""
        rebuilt = []
        for model in self._right:
            played = model.history.rounds[number]
            failed = bool(model.table.outcome(model.spec, self.sources[model.spec.source]).errors)
            if failed and played.remedy == "take back":
                model.spec = model.before
                model.log.append("-- the edits are taken back")
            elif failed and played.remedy == "accept":
                self._each(self._accept, [model])
            elif played.rebuilds or (failed and played.remedy == "full refresh"):
                model.spec = replace(model.spec, broken="")
                self._write(model)
                rebuilt.append(model)
        if rebuilt:
            self._run(full_refresh=rebuilt)

    # Inspection

    def _types(self, model: EditedModel) -> dict[str, str]:
        return dict(self.shop.frame(f"select * from {model.name}").dtypes)

    def _rows(self, model: EditedModel, names: Iterable[str]) -> Counter[tuple[Value, ...]]:
        return Counter(self.shop.sql(f"select {', '.join(names)} from {model.name}"))

    def _wrong(
        self,
        model: EditedModel,
        what: str,
        outcome: Outcome | None = None,
        rows: Counter[tuple[Value, ...]] | None = None,
    ) -> WrongResultError:
        number = model.history.number
        lines = [
            f"{model.spec.name}: {what}.",
            f"History {number} of seed {self.seed}; play it alone with: FUZZ_SEED={self.seed} "
            f"FUZZ_ROUNDS={len(model.history.rounds)} FUZZ_ONLY={number} pytest tests/functional/fuzz/test_edits.py",
        ]
        if outcome is not None and outcome.errors:
            lines.append(f"Expected: a failure that says one of {sorted(outcome.errors)}.")
        elif outcome is not None and outcome.after is not None and outcome.after.contents is not None:
            expected = outcome.after.contents
            lines.append(f"Expected: {dict(expected.types)}, {_listed(expected.counted)}")
            if rows is not None:
                missing, extra = expected.counted - rows, rows - expected.counted
                lines.append(f"  missing: {_listed(missing)}; too many: {_listed(extra)}")
        if rows is not None:
            lines.append(f"Found: {_listed(rows)}")
        commits = [f"  {number}: {each.sql};" for number, each in enumerate(self.sources[model.spec.source].commits, 1)]
        return WrongResultError("\n".join([*lines, "Commits of the source:", *commits, "What was done:", *model.log]))


def _epoch(seen: Metadata) -> int:
    return int(json.loads(seen.checkpoint or "{}").get("epoch", 0))


def _listed(rows: Counter[tuple[Value, ...]]) -> str:
    return "{" + ", ".join(sorted(f"{row}" + (f" x{n}" if n > 1 else "") for row, n in rows.items())) + "}"
