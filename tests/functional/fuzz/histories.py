"""Random histories: the steps of a source and of the tables built from it, and the models that read them.

A seed and a number always create the same history. This module does not use Spark. A step is a kind and a few random
numbers, with which ``sources.py`` and ``pipeline.py`` choose rows, partitions and snapshots.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from . import spellings
from .changelog_kinds import CHANGELOG_KINDS, SIGNED_SUMS
from .kinds import FIRST_STAGE, SECOND_STAGE, Kind
from .other_kinds import OTHER_KINDS
from .reading import Reading
from .sequence_kinds import NEWEST
from .settings import NONE, Settings, settings_of
from .spellings import Spelling
from .star_kinds import STAR_KINDS

Weights = Mapping[str, int]

# Steps of a source. Those of the first group add rows and delete none.
GROWTH: Weights = {"append": 14, "merge_new": 3, "overwrite_empty": 3}
REWRITES: Weights = {
    "update": 4,
    "update_same": 1,
    "update_partition": 2,
    "update_unread": 2,
    "delete": 3,
    "delete_partition": 2,
    "merge": 4,
    "merge_delete": 1,
    "overwrite": 2,
    "truncate": 1,
    "insert_again": 3,
}
NO_CHANGES: Weights = {
    "compact": 3,
    "rewrite_manifests": 1,
    "insert_nothing": 2,
    "update_nothing": 1,
    "merge_nothing": 1,
}
SCHEMA: Weights = {"add_column": 1, "rename_column": 1, "widen_column": 1, "upgrade": 1, "change_modes": 1}
BREAKS: Weights = {"expire": 3, "rollback": 3, "restore": 1, "replace_empty": 1, "replace_by_rows": 1}
# Steps of the tables that the models built.
TARGETS: Weights = {"compact_target": 2, "expire_target": 2, "rollback_target": 3}

CALM: Weights = {**GROWTH, **NO_CHANGES, **SCHEMA, "expire": 1, "delete": 1}
LIVELY: Weights = {**GROWTH, **REWRITES, **NO_CHANGES, **SCHEMA, "expire": 1}
WILD: Weights = {**GROWTH, **REWRITES, **NO_CHANGES, **SCHEMA, **BREAKS, **TARGETS}
TEMPERS = (CALM, LIVELY, WILD, WILD)
# More steps, for all tempers.
FURTHER_STEPS: Weights = {"update_pair": 3, "add_file": 3, "evolve_target": 4, "wap_off_target": 2, "modes_target": 2}


PHRASES = (
    ("delete", "delete"),
    ("delete", "compact", "delete"),
    ("update", "compact"),
    ("update", "compact", "append", "update", "compact_some"),
    ("update", "update_back"),
    ("update", "compact", "update_back"),
    ("delete", "insert_again"),
    ("delete", "compact_some", "insert_again"),
    ("delete", "upgrade", "delete", "update"),
    ("merge", "delete", "compact_some", "rewrite_deletes"),
    ("delete", "rewrite_deletes", "update_same"),
    ("delete", "undelete"),
    ("update_same", "delete", "undelete", "merge"),
)
"""Sequences of steps of a source in which rows are deleted twice, moved in between, or inserted again."""

OWN_PHRASES = (
    ("append_more", "delete_newest"),
    ("append_more", "update_newest", "delete_newest"),
    ("append", "append_more", "delete_newest", "append"),
    ("append_more", "update_newest", "compact_some", "delete_newest"),
    ("append_more", "delete_newest", "insert_again"),
    ("append_more", "delete_newest", "rewrite_deletes", "update_newest"),
    ("append", "delete_newest", "delete_newest"),
)
"""Sequences of steps of a source that mostly change rows that they have added."""

MOVES: Weights = {
    "append": 4,
    "append_more": 2,
    "merge_new": 1,
    "update": 4,
    "update_same": 1,
    "update_back": 2,
    "update_partition": 1,
    "delete": 4,
    "merge": 4,
    "merge_delete": 1,
    "overwrite": 1,
    "insert_again": 2,
    "undelete": 1,
    "compact": 3,
    "compact_some": 2,
    "rewrite_deletes": 1,
    "rewrite_manifests": 1,
    "upgrade": 1,
    "change_modes": 1,
}
"""Steps of histories that test how net changes are read."""

LONG = 4
"""The number of rounds after which the rounds of a longer history end with a phrase."""

FURTHER_KINDS = CHANGELOG_KINDS + OTHER_KINDS + STAR_KINDS
"""Kinds of models. Each history has one of them in addition to its other models."""

REMEDIES = ("full_refresh", "full_refresh", "set_checkpoint", "set_checkpoint", "wait")
"""The actions after a run that failed as expected."""


@dataclass(frozen=True)
class Step:
    """A step of a history. ``numbers`` determine the details that the kind leaves open."""

    kind: str
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Variant:
    """The properties of a source. ``keyed``: whether its ``id`` is unique; otherwise it has duplicates and NULLs.

    ``id``, ``k``: the spelling of their values. ``has_bounds``: whether the metadata of its files has bounds for them.
    ``has_twins``: whether it has a column ``K`` in addition to ``k``.
    """

    version: int
    mode: str
    partition: str | None
    keyed: bool
    id: Spelling = spellings.NUMBER
    k: Spelling = spellings.NUMBER
    has_bounds: bool = True
    has_twins: bool = False


@dataclass(frozen=True)
class ModelChoice:
    """A model of a history: its kind, its policies, and the first-stage model that a second-stage one reads.

    ``limit``: the maximum number of commits with rows per run.
    """

    kind: Kind
    on_source_rewrite: str
    on_history_break: str | None
    limit: int | None = None
    parent: int | None = None

    def reads_net(self, name: str) -> bool:
        """Whether it reads net changes of an input. If so, the position there is never set back manually."""
        macros = {"source": self.kind.source, "parent": self.kind.parent}[name]
        return self.on_source_rewrite == "upserts" or "changelog" in macros


@dataclass(frozen=True)
class Round:
    """Steps, and a dbt run after them. ``remedy``: the action for a model that failed as expected."""

    steps: tuple[Step, ...]
    remedy: str


def window(seed: int, number: int) -> tuple[int, int] | None:
    """The first and last of the days that are processed again after a round's run. None after most rounds."""
    if number % 4 != 2:
        return None
    choose = random.Random(f"{seed}/window/{number}")
    first = choose.randrange(4)
    return first, first + choose.randrange(3)


@dataclass(frozen=True)
class History:
    """A history. ``wap_off``: its models have a pre-hook that disables staging for their tables."""

    number: int
    variant: Variant
    models: tuple[ModelChoice, ...]
    rounds: tuple[Round, ...]
    settings: Settings
    wap_off: bool
    reading: Reading = Reading.EXACTLY

    @property
    def name(self) -> str:
        """The prefix of the names of its tables."""
        return f"h{self.number}"


def history(seed: int, number: int, rounds: int) -> History:
    """The history with this number. Variants rotate, so that a few histories cover all of them."""
    choose = random.Random(f"{seed}/{number}")
    variant = Variant(
        version=2 + number % 2,
        mode=("copy-on-write", "merge-on-read")[number // 2 % 2],
        partition=choose.choice((None, "day", "day", "k")),
        keyed=choose.random() < 0.75,
    )
    temper = choose.choice(TEMPERS)
    models = _models(choose, number, variant)
    first = tuple(_step(choose, GROWTH) for _ in range(choose.choice((0, 1, 2, 3))))
    rest = [
        tuple(_step(choose, temper) for _ in range(choose.choice((0, 1, 1, 2, 2, 3, 4)))) for _ in range(rounds - 1)
    ]
    remedies = [choose.choice(REMEDIES) for _ in range(rounds)]

    choose = random.Random(f"{seed}/further/{number}")
    further = _further_model(choose, number, variant)
    variant = _spelled(choose, number, variant, [model.kind for model in (*models, further)])
    for at in range(len(rest)):
        if choose.random() < 0.6:
            rest[at] += (_step(choose, FURTHER_STEPS),)
    if rest and further.kind.name == "days_if_incremental":
        rest[-1] += (_step(choose, {"replace_by_rows": 1}),)
    if rest and further.kind.is_star:
        rest[0] += (_step(choose, {"rename_column": 1, "add_column": 1}), _step(choose, {"append": 1}))
    if rest and variant.partition is None and not variant.keyed:  # the only kind of source that may have a file twice
        rest[0] += (_step(choose, {"add_file": 1}), _step(choose, {"add_file": 1}))
        rest[-1] += (_step(choose, {"update": 1, "delete": 1}),)
    choose = random.Random(f"{seed}/phrases/{number}")
    for at in range(LONG - 1, len(rest)):
        rest[at] += _phrase(choose)
    return History(
        number,
        variant,
        (*models, further, *_sums(number), *_newest(number, variant)),
        tuple(Round(steps, remedy) for steps, remedy in zip((first, *rest), remedies, strict=True)),
        settings_of(number),
        wap_off=number % 8 == 3,
        reading=random.Random(f"{seed}/reading/{number}").choice(list(Reading)),
    )


def moves(seed: int, number: int, rounds: int) -> History:
    """A history without models, in which rows are moved, deleted and inserted again. Variants rotate."""
    choose = random.Random(f"{seed}/moves/{number}")
    keyed = number % 4 < 3
    variant = Variant(
        version=2 + number % 2,
        mode=("merge-on-read", "merge-on-read", "copy-on-write")[number % 3],
        partition=choose.choice((None, None, "day")) if keyed else None,
        keyed=keyed,
    )
    begin = tuple(_step(choose, {kind: 1}) for kind in ("append_more", "append", "append_more"))
    rest = [
        tuple(_step(choose, MOVES) for _ in range(choose.randrange(3))) + _phrase(choose) for _ in range(rounds - 1)
    ]
    if number % 7 == 0:  # not for the histories that must find the planted bugs
        choose = random.Random(f"{seed}/equality/{number}")
        rest = [(_step(choose, {"delete_by_equality": 1}), *steps) for steps in rest]
    files = () if keyed else tuple(_step(choose, {"add_file": 1}) for _ in range(3))
    rounds_ = (Round((*begin, *files), "wait"), *(Round(steps, "wait") for steps in rest))
    return History(number, variant, (), rounds_, NONE, wap_off=False)


def own_rows(seed: int, number: int, rounds: int) -> History:
    """A history without models that mostly changes recently added rows. Variants rotate."""
    choose = random.Random(f"{seed}/own/{number}")
    variant = Variant(
        version=2 + number % 2,
        mode=("merge-on-read", "copy-on-write")[number // 2 % 2],
        partition=choose.choice((None, None, "day")),
        keyed=number % 5 < 4,
    )
    begin = tuple(_step(choose, {kind: 1}) for kind in ("append_more", "append"))
    rest = [_phrase(choose, OWN_PHRASES) for _ in range(rounds - 1)]
    rounds_ = (Round(begin, "wait"), *(Round(steps, "wait") for steps in rest))
    return History(number, variant, (), rounds_, NONE, wap_off=False)


def _phrase(choose: random.Random, phrases: Sequence[Sequence[str]] = PHRASES) -> tuple[Step, ...]:
    return tuple(_step(choose, {kind: 1}) for kind in choose.choice(phrases))


def _further_model(choose: random.Random, number: int, variant: Variant) -> ModelChoice:
    fitting = [kind for kind in FURTHER_KINDS if variant.keyed or not kind.needs_key]
    return _model(choose, fitting[(number + number // 4) % len(fitting)])


def _sums(number: int) -> tuple[ModelChoice, ...]:
    """The model of signed sums that some histories also have, except those that must find the planted bugs."""
    return (ModelChoice(SIGNED_SUMS, "fail", None, limit=1 if number % 2 else None),) if number % 7 == 0 else ()


def _newest(number: int, variant: Variant) -> tuple[ModelChoice, ...]:
    """The model of the newest rows that some histories also have, except those that must find the planted bugs."""
    if number % 3 or not variant.keyed:
        return ()
    return (ModelChoice(NEWEST, NEWEST.policies[number // 3 % 4], None, limit=1 if number % 2 else None),)


def _spelled(choose: random.Random, number: int, variant: Variant, kinds: Sequence[Kind]) -> Variant:
    """The variant with the types and values of its columns."""
    settings = settings_of(number)
    k = spellings.OF_K[number % len(spellings.OF_K)]
    id_ = spellings.OF_ID[number % len(spellings.OF_ID)]
    if settings.has_twins:
        k = spellings.NUMBER  # like its twin
    elif any(kind.name == "ks_in_range" for kind in kinds):
        is_time = "spark.sql.timestampType" in settings.values
        k = spellings.TIME if is_time else spellings.OF_RANGES[number // 2 % len(spellings.OF_RANGES)]
    if any(kind.plain_id for kind in kinds) or not variant.keyed:
        id_ = spellings.NUMBER
    partition = variant.partition
    if k is spellings.DOUBLE and variant.version == 2 and choose.random() < 0.5:
        partition = "k"
    if (partition == "k" and not k.in_partitions) or (not variant.keyed and choose.random() < 0.5):
        partition = None
    return replace(
        variant, partition=partition, id=id_, k=k, has_bounds=choose.random() < 0.75, has_twins=settings.has_twins
    )


def _models(choose: random.Random, number: int, variant: Variant) -> tuple[ModelChoice, ...]:
    """Two models that read the source, and one or two that read these models. Their kinds rotate too."""
    fitting = [kind for kind in FIRST_STAGE if variant.keyed or not kind.needs_key]
    first = [_model(choose, fitting[number % len(fitting)]), _model(choose, choose.choice(fitting))]
    second: list[ModelChoice] = []
    for parent, model in enumerate(first):
        readers = [
            kind for kind in SECOND_STAGE if model.kind.name in kind.reads and (variant.keyed or not kind.needs_key)
        ]
        if readers and len(second) <= choose.randint(0, 1):
            second.append(_model(choose, choose.choice(readers), parent))
    return (*first, *second)


def _model(choose: random.Random, kind: Kind, parent: int | None = None) -> ModelChoice:
    policy, on_break = choose.choice(kind.policies), choose.choice((None, None, None, "fail", "full_refresh"))
    # a run may make one or two commits to a first-stage table, and a limit of 1 reads both
    limit = choose.choice((None, None, None, 1, 2 if parent is None else 1))
    return ModelChoice(kind, policy, on_break, limit, parent)


def _step(choose: random.Random, weights: Weights) -> Step:
    (kind,) = choose.choices(list(weights), list(weights.values()))
    return Step(kind, tuple(choose.randrange(1_000_000) for _ in range(8)))
