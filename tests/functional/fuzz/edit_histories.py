"""Random histories of one model whose text and configs are edited between its runs.

A seed and a number always create the same history: a first model, and the actions of each round.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from .edit_model import (
    APPEND,
    APPLY,
    EPHEMERAL,
    INLINE,
    MACRO,
    MERGE,
    OVERWRITE,
    SYNTAX,
    UNKNOWN_COLUMN,
    VAR,
    Spec,
    valid,
)
from .edit_sources import LOG, MIRROR, STREAM

BATCH = 30
"""The number of histories that share sources and a project, and so each dbt run."""

_TYPES = ("int", "bigint", "string", "decimal(10,0)", "decimal(10,2)", "decimal(12,2)", "double", "float")
_WIDE_TYPES = ("string", "string", "bigint", "decimal(12,2)", "double")
_SQL_CHANGE = (None, "warn", "fail", "full_refresh", "ignore")
_SCHEMA_CHANGE = (None, "ignore", "append_new_columns", "sync_all_columns", "fail")
_REWRITES = ("fail", "upserts", "upserts", "ignore", "full_refresh")
_CONDITIONS = ("", "v > 20", "v % 2 = 0", "k <> 2", "id is not null")


@dataclass(frozen=True)
class Round:
    """The actions on a model in a round. ``edits``: kinds, each with a seed.

    ``accepts``: whether ``ip_set_checkpoint`` accepts the edit before the run. ``rebuilds``: whether a full refresh
    follows the run. ``remedy``: the action after a failed run.
    """

    edits: tuple[tuple[str, int], ...]
    accepts: bool
    rebuilds: bool
    remedy: str


@dataclass(frozen=True)
class EditHistory:
    """A model and its rounds."""

    number: int
    first: Spec
    rounds: tuple[Round, ...]


@dataclass(frozen=True)
class BatchRound:
    """The shared part of a batch's round. ``commits``: their number by source. ``again``: whether it runs twice."""

    commits: Mapping[str, int]
    again: bool


def batch_rounds(seed: int, batch: int, rounds: int) -> list[BatchRound]:
    """The rounds of the batch with this number. The first build follows the first round."""
    rng = random.Random(f"{seed} batch {batch}")
    return [
        BatchRound(
            {kind: rng.choice((1, 1, 2) if number == 0 else (0, 1, 1, 2)) for kind in (STREAM, MIRROR, LOG)},
            again=rng.random() < 0.25,
        )
        for number in range(rounds)
    ]


def edit_history(seed: int, number: int, rounds: int) -> EditHistory:
    """The history with this number."""
    rng = random.Random(f"{seed} edits {number}")
    first, played = _first(rng, number), []
    for _ in range(rounds):
        kinds = rng.choices([*KINDS], weights=[weight for weight, _ in KINDS.values()], k=rng.choice((0, 1, 1, 1, 2)))
        remedy = rng.choice(("take back", "take back", "full refresh", "full refresh", "accept", "wait"))
        edits = tuple((kind, rng.randrange(10**6)) for kind in kinds)
        played.append(Round(edits, rng.random() < 0.03, rng.random() < 0.05, remedy))
    return EditHistory(number, first, tuple(played))


def edited(spec: Spec, kind: str, seed: int) -> Spec:
    """A model after an edit."""
    _, edit = KINDS[kind]
    return valid(edit(spec, random.Random(seed)))


def _first(rng: random.Random, number: int) -> Spec:
    source = rng.choice((STREAM, MIRROR, MIRROR, LOG))
    strategies = {STREAM: (APPEND, MERGE, OVERWRITE), MIRROR: (MERGE, APPLY, APPLY), LOG: (MERGE, APPLY, APPEND)}
    spec = Spec(
        number,
        source,
        rng.choice(strategies[source]),
        key=rng.choice((("id",), ("id",), ("id", "k"))),
        sequence=source != MIRROR and rng.random() < 0.8,
        partitioned=rng.random() < 0.5,
        place=rng.choice((INLINE, INLINE, MACRO, VAR, EPHEMERAL)),
        on_sql_change=rng.choice(_SQL_CHANGE),
        on_schema_change=rng.choice(_SCHEMA_CHANGE),
        on_source_rewrite=rng.choice(_REWRITES) if source == MIRROR else "fail",
        images=rng.random() < 0.5,
        noise=rng.randrange(60),
    )
    cast = {name: rng.choice(_WIDE_TYPES) for name in ("id", "k", "d", "at") if rng.random() < 0.35}
    return valid(replace(spec, types=tuple(sorted(cast.items()))))


def _recomputed(spec: Spec, rng: random.Random) -> Spec:
    operation = rng.choice(("*", "*", "+", "/"))
    operand = 4 if operation == "/" else rng.choice([n for n in (1, 2, 10, 100) if n != spec.operand])
    return replace(spec, operation=operation, operand=operand)


def _moved(spec: Spec, rng: random.Random) -> Spec:
    return replace(spec, place=rng.choice((INLINE, MACRO, VAR, EPHEMERAL)))


def _retyped(spec: Spec, rng: random.Random) -> Spec:
    """Most types can store the values of most other types, so that not every such edit fails for its type."""
    column = rng.choice(("id", "id", "k", "d", "d", "at", "at", "v"))
    type_ = rng.choice(_TYPES if rng.random() < 0.4 else _WIDE_TYPES)
    return replace(spec, types=tuple(sorted({**dict(spec.types), column: type_}.items())))


def _untyped(spec: Spec, rng: random.Random) -> Spec:
    kept = rng.randrange(len(spec.types) or 1)
    return replace(spec, types=spec.types[:kept] + spec.types[kept + 1 :])


def _filtered(spec: Spec, rng: random.Random) -> Spec:
    return replace(spec, condition=rng.choice(_CONDITIONS))


def _with_other_columns(spec: Spec, rng: random.Random) -> Spec:
    which = rng.randrange(3)
    if which == 0:
        return replace(spec, has_w=not spec.has_w)
    if which == 1:
        return replace(spec, has_k=not spec.has_k)
    return replace(spec, value_name="amount" if spec.value_name == "v" else "v")


def _rekeyed(spec: Spec, rng: random.Random) -> Spec:
    keys = [("id",), ("id", "k")] + ([("id", "w")] if spec.has_w else [])
    return replace(spec, key=rng.choice([each for each in keys if each != spec.key]))


def _reordered(spec: Spec, rng: random.Random) -> Spec:
    return replace(spec, sequence=not spec.sequence)


def _with_other_strategy(spec: Spec, rng: random.Random) -> Spec:
    strategies = (APPEND, MERGE, OVERWRITE, APPLY, MERGE if spec.source == STREAM else APPLY)
    return replace(spec, strategy=rng.choice([each for each in strategies if each != spec.strategy]))


def _repartitioned(spec: Spec, rng: random.Random) -> Spec:
    return replace(spec, partitioned=not spec.partitioned)


def _with_images(spec: Spec, rng: random.Random) -> Spec:
    return replace(spec, images=not spec.images)


def _broken(spec: Spec, rng: random.Random) -> Spec:
    return replace(spec, broken=rng.choice((SYNTAX, UNKNOWN_COLUMN)))


def _fixed(spec: Spec, rng: random.Random) -> Spec:
    return replace(spec, broken="")


def _laid_out(spec: Spec, rng: random.Random) -> Spec:
    return replace(spec, noise=rng.randrange(60))


def _with_other_policy(spec: Spec, rng: random.Random) -> Spec:
    which = rng.randrange(3 if spec.source == MIRROR else 2)
    if which == 0:
        return replace(spec, on_sql_change=rng.choice(_SQL_CHANGE))
    if which == 1:
        return replace(spec, on_schema_change=rng.choice(_SCHEMA_CHANGE))
    return replace(spec, on_source_rewrite=rng.choice(_REWRITES))


KINDS: Mapping[str, tuple[int, Callable[[Spec, random.Random], Spec]]] = {
    "value": (5, _recomputed),
    "place": (2, _moved),
    "type": (6, _retyped),
    "type of the source": (4, _untyped),
    "filter": (3, _filtered),
    "columns": (3, _with_other_columns),
    "key": (3, _rekeyed),
    "sequence": (2, _reordered),
    "strategy": (4, _with_other_strategy),
    "partitions": (1, _repartitioned),
    "images": (1, _with_images),
    "broken": (3, _broken),
    "fixed": (2, _fixed),
    "layout": (6, _laid_out),
    "policy": (4, _with_other_policy),
}
"""The kinds of edits, with their weights."""
