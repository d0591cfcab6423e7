"""Random plain SQL with the strategy ``auto``. After each run a table equals its rebuild, or its SQL was refused.

``FUZZ_HISTORIES``, ``FUZZ_ROUNDS`` and ``FUZZ_SEED`` set the number, length and seed of the histories. ``FUZZ_ONLY``
lists the histories to repeat, which must be in one batch. ``FUZZ_QUERIES``: the number of models per history.
``FUZZ_REDUCE=1`` reduces queries with wrong results. ``FUZZ_STRATEGY=table`` tests the fuzz itself.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re

import pytest

from iceberg_incremental.expose import source_states as plain_sources
from iceberg_incremental.write.auto import update_plan
from tests.functional.incremental.shop import Shop

from . import plain_holes as holes
from .pipeline import WrongResultError
from .plain_sql.comparing import plain
from .plain_sql.counts import PlainTally
from .plain_sql.histories import AUTO, BATCH, PlainHistory, plain_history
from .plain_sql.pipeline import PlainPipeline
from .plain_sql.qualify import with_qualify
from .plain_sql.reducing import reduced

FIXED_SEED = 24
FIXED_COUNT, FIXED_ROUNDS, FIXED_QUERIES = 2, 4, 7
SEED = int(os.environ.get("FUZZ_SEED", FIXED_SEED))
ROUNDS = int(os.environ.get("FUZZ_ROUNDS", FIXED_ROUNDS))
COUNT = int(os.environ.get("FUZZ_HISTORIES", FIXED_COUNT))
QUERIES = int(os.environ.get("FUZZ_QUERIES", FIXED_QUERIES))
ONLY = os.environ.get("FUZZ_ONLY")

NUMBERS = [int(number) for number in ONLY.split(",")] if ONLY else range(COUNT)
BATCHES = [list(batch) for _, batch in itertools.groupby(NUMBERS, lambda number: number // BATCH)]
CHOSEN = [BATCHES[0], *(pytest.param(batch, marks=pytest.mark.nightly) for batch in BATCHES[1:])]


@pytest.fixture(scope="module")
def tally():
    return PlainTally()


@pytest.fixture(autouse=True)
def small_tables_are_written_like_large_ones(monkeypatch):
    """The tables have few rows, but runs should choose the code paths for large tables about as often."""
    monkeypatch.setattr(update_plan, "_FEWEST_ROWS", 2)
    monkeypatch.setattr(plain_sources, "_FEW_OF", 1)
    monkeypatch.setattr(update_plan, "MOST_REWRITTEN", 3)


@pytest.fixture
def new_shop(shop, embedded_target, outside):
    """Creates further projects, each with its own schemas."""
    numbers = itertools.count(1)

    def make():
        name = f"{shop.schema}_{next(numbers)}"
        return Shop(shop.folder.parent / name, embedded_target, name, outside.session)

    return make


@pytest.mark.parametrize("numbers", CHOSEN, ids=lambda numbers: f"{numbers[0]}-{numbers[-1]}")
def test_a_table_equals_its_rebuild(shop, new_shop, tally, numbers, record_property):
    pipeline = PlainPipeline(shop, [plain_history(SEED, number, ROUNDS, QUERIES) for number in numbers], SEED, tally)
    try:
        pipeline.play()
    except WrongResultError as error:
        if "FUZZ_REDUCE" not in os.environ:
            raise
        smaller = [reduced(each, new_shop) for each in pipeline.wrong]
        raise WrongResultError("\n\n".join((str(error), *smaller))) from error
    finally:
        record_property("fuzz_plain_sql", f"seed {SEED}: {tally}")


def test_the_generator_writes_everything():
    histories = [plain_history(FIXED_SEED, number, FIXED_ROUNDS, FIXED_QUERIES) for number in range(120)]
    models = [model for history in histories for model in history.models]
    texts = [with_qualify(model.sql.lower()) for model in models]
    for words in (
        " join ", " left join ", " right join ", " semi join ", " anti join ", " cross join ", "using (", ", <<h",
        " union all ", "with ", "group by all", "group by 1", "having ", "distinct ", "count(distinct ", "filter (",
        "case when ", "row_number() over", "lag(", "window w as", "exists (", "not exists (", " in (select",
        "not in (select", "(select count(", "lateral view explode(", "lateral view outer", "posexplode(", "select *",
        ".*", "* except (", " <=> ", "is distinct from", "null)", " || ", "`order id`", "coalesce(",
        "struct(*)", "(values ", " qualify ", " full join ", " intersect ", " except ", "rollup (", "cube (",
        "current_date", "join lateral (", ", lateral (", " pivot (", " unpivot (", "with recursive w5",
    ):  # fmt: skip
        assert sum(words in text for text in texts) > 2, words
    assert {model.kind for model in models} == {AUTO, "view", "ephemeral"}
    assert {dict(model.config).get("rebuild_above") for model in models} == {0, 0.5, 1, None}
    assert any("unique_key" in dict(model.config) for model in models)
    assert {model.must_be_refused for model in models if model.reason} == {True, False}
    steps = {step.kind for history in histories for steps in history.rounds for _, step in steps}
    assert steps >= {
        "append",
        "update",
        "update_key",
        "delete",
        "merge",
        "overwrite",
        "compact",
        "add_column",
        "expire",
    }


def test_values_are_compared_as_group_by_compares_them():
    assert plain(-0.0) == plain(0.0) == 0.0 and str(plain(-0.0)) == "0.0"
    assert plain((float("nan"), None)) == plain((float("nan"), None))
    assert plain({"a": 1, "b": [2]}) == plain({"b": [2], "a": 1}) != plain({"a": 1})


def histories_with(pattern: str) -> list[PlainHistory]:
    """The histories of the fixed seed that have the most models whose SQL can show a bug, and that never rebuild."""

    def count(history: PlainHistory) -> int:
        always = [model for model in history.models if dict(model.config).get("rebuild_above") == 1]
        return sum(re.search(pattern, model.sql.lower()) is not None for model in always)

    histories = [plain_history(FIXED_SEED, number, FIXED_ROUNDS, 2 * FIXED_QUERIES) for number in range(200)]
    return sorted(histories, key=count, reverse=True)[:30]


@pytest.mark.nightly
@pytest.mark.parametrize("plant", holes.SHOWN_BY, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_found(new_shop, monkeypatch, plant, record_property):
    """Histories are played until one finds the bug."""
    plant(monkeypatch)
    for history in histories_with(holes.SHOWN_BY[plant]):
        pipeline = PlainPipeline(new_shop(), [history], FIXED_SEED)
        with contextlib.suppress(WrongResultError):
            pipeline.play()
        if pipeline.wrong:
            assert any("its rows are wrong" in each.message for each in pipeline.wrong)
            record_property(f"fuzz_plain_{plant.__name__}", f"{plant.__name__}: found by history {history.number}")
            return
    pytest.fail("no history has found it")
