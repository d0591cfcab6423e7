"""Random histories of plain SQL: sources, models over them and over each other, and the steps between runs.

A seed and a number always create the same history.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from .queries import Named, Query, top
from .refusals import refused
from .sources import SCHEMA, WEIGHTS, PlainSource, Step, source
from .values import Column

AUTO, VIEW, EPHEMERAL = "auto", "view", "ephemeral"
_ROWS = 25

BATCH = 2
"""The number of histories that share a project, and so a profile with its settings."""

SETTINGS: tuple[dict[str, str], ...] = (
    {},
    {},
    {"spark.sql.session.timeZone": "Europe/Berlin"},
    {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "America/St_Johns"},
    {},
    {"spark.sql.timestampType": "TIMESTAMP_NTZ", "spark.sql.session.timeZone": "Europe/Berlin"},
)
"""Session settings, which rotate over batches."""


@dataclass(frozen=True)
class PlainModel:
    """A model. ``sql`` contains relations as ``<<name>>``. ``reason``: the part that must or may be refused.

    ``config``: the config of the strategy.
    """

    name: str
    kind: str
    sql: str
    columns: tuple[Column, ...]
    config: tuple[tuple[str, object], ...] = ()
    reason: str | None = None
    must_be_refused: bool = False


@dataclass(frozen=True)
class PlainHistory:
    """A history: the steps before each run, by the names of sources.

    ``redefined``: the new SQL of views before each run, by their names.
    """

    number: int
    sources: tuple[PlainSource, ...]
    models: tuple[PlainModel, ...]
    rounds: tuple[tuple[tuple[str, Step], ...], ...]
    settings: dict[str, str]
    redefined: tuple[dict[str, str], ...] = ()


def plain_history(seed: int, number: int, rounds: int, queries: int) -> PlainHistory:
    """The history with this number, with this many models that are updated incrementally."""
    rng = random.Random(f"{seed}/plain/{number}")
    sources = [source(rng, f"h{number}_s{at}") for at in range(rng.choice((2, 3, 3, 4)))]
    first = [(each.name, each.create()) for each in sources]
    for each in sources:
        first += [
            (each.name, step)
            for step in map(each.step, ("append_many", "append", "append_many", "append_again"))
            if step
        ]
    models = _models(random.Random(f"{seed}/models/{number}"), number, sources, queries)
    further = [tuple(_steps(rng, sources, has_schema=rng.random() < 0.1)) for _ in range(rounds - 1)]
    views = random.Random(f"{seed}/views/{number}")
    return PlainHistory(
        number,
        tuple(sources),
        models,
        (tuple(first), *further),
        SETTINGS[number // BATCH % len(SETTINGS)],
        ({}, *(_redefined(views, models) for _ in further)),
    )


def _redefined(rng: random.Random, models: tuple[PlainModel, ...]) -> dict[str, str]:
    """Other definitions of some views, with the same columns."""
    found = {}
    for model in models:
        if model.kind == VIEW and rng.random() < 0.4:
            kept = rng.choice(("is null", "is not null"))
            found[model.name] = f"select * from ({model.sql}) q where q.`{rng.choice(model.columns).name}` {kept}"
    return found


def _steps(rng: random.Random, sources: list[PlainSource], *, has_schema: bool) -> list[tuple[str, Step]]:
    """Some steps of one or more sources."""
    chosen = rng.sample(sources, rng.choice((1, 1, 2, len(sources))))
    weights = {kind: n * (6 * has_schema if kind in SCHEMA else 1) for kind, n in WEIGHTS.items()}
    found = []
    for each in chosen:
        for kind in rng.choices(list(weights), list(weights.values()), k=rng.choice((1, 1, 2, 3))):
            step = each.step(kind)
            if step is not None:
                found.append((each.name, step))
    return found


def _models(rng: random.Random, number: int, sources: list[PlainSource], queries: int) -> tuple[PlainModel, ...]:
    """Models over the sources. Later ones also read earlier ones, and views and ephemeral models in between."""
    relations = [Named(f"<<{each.name}>>", each.name, each.seen, _ROWS) for each in sources]
    models: list[PlainModel] = []
    at = 0
    while sum(model.kind == AUTO for model in models) < queries:
        kind = rng.choices((AUTO, VIEW, EPHEMERAL), (85, 8, 7))[0]
        query = top(rng, relations)
        model = _model(rng, f"h{number}_m{at}", kind, query)
        models.append(model)
        at += 1
        if model.reason is None and (kind != AUTO or rng.random() < 0.25):
            # dbt renames ephemeral models, so they are always read under an alias
            name = "" if kind == EPHEMERAL else model.name
            relations.append(Named(f"<<{model.name}>>", name, model.columns, query.rows))
    return tuple(models)


def _model(rng: random.Random, name: str, kind: str, query: Query) -> PlainModel:
    if kind != AUTO:
        return PlainModel(name, kind, query.sql, query.columns)
    reason, must = None, False
    if rng.random() < 0.06:
        query, reason, must = refused(rng, query)
    config: list[tuple[str, object]] = []
    above = rng.choice((1, 1, 1, 1, 1, 1, 0.5, 0, None))
    if above is not None:
        config.append(("rebuild_above", above))
    if not must and rng.random() < (0.12 if reason is None else 0.5):
        config.append(("on_not_incremental", "full_refresh"))
    keys = [column.name for column in query.columns if column.kind.value in ("int", "str", "date", "numstr")]
    if keys and reason is None and rng.random() < 0.15:
        config.append(("unique_key", rng.sample(keys, min(len(keys), rng.choice((1, 1, 2))))))
    return PlainModel(name, kind, query.sql, query.columns, tuple(config), reason, must)
