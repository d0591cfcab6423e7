"""Plans the maintenance of one table: the steps, and the reasons for the steps that are skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum

from ..table.files import LiveFiles
from ..table.history import History, TableName
from .branches import OwnBranches
from .compaction import DataRewrite, DeleteRewrite, ManifestRewrite, plan_data, plan_deletes, plan_manifests
from .expiry import Expiry, ExpiryRisk, RetainedForReader, is_collected, plan_expiry, without_branches
from .readers import Reader, hinders_compaction, needed_by


class StepKind(str, Enum):
    """The kinds of steps for a table, in the order in which they are executed."""

    DROP_TABLE = "drop_table"
    DROP_BRANCH = "drop_branch"
    SET_ORDER = "set_write_order"
    EXPIRE = "expire_snapshots"
    REWRITE_DATA = "rewrite_data_files"
    REWRITE_DELETES = "rewrite_position_delete_files"
    REWRITE_MANIFESTS = "rewrite_manifests"
    REMOVE_ORPHANS = "remove_orphan_files"


@dataclass(frozen=True)
class OrderChange:
    """The clause of ALTER TABLE that gives new files the order of the model's config."""

    clause: str


PlanPart = OrderChange | Expiry | DataRewrite | DeleteRewrite | ManifestRewrite | str
"""The part of a table's plan that a step executes, or the name of a branch."""


@dataclass(frozen=True)
class KnownTable:
    """The facts about a table that its maintenance plan depends on.

    ``live``: its files; None if there are none, or if they cannot be listed. ``order``: as in TablePlan. ``readers``:
    the models of the project that read it. ``unknown_readers``: the models whose positions cannot be read, with the
    reasons. ``needed``: the snapshots that the table itself needs. ``branches``: its staging branches.
    """

    history: History
    live: LiveFiles | None
    order: OrderChange | None = None
    readers: Sequence[Reader] = ()
    unknown_readers: Mapping[str, str] = field(default_factory=dict)
    needed: frozenset[int] = frozenset()
    branches: OwnBranches = field(default_factory=OwnBranches)


@dataclass(frozen=True)
class TablePlan:
    """The steps for a table, and the reasons for skipped steps. A field is None or empty if it does not apply.

    ``is_left``: whether a crashed run left the table behind, so that it is dropped. ``left``: the branches of crashed
    runs. ``order``: set if the model's config has another order of rows than the table. ``is_sorted``: whether
    compactions sort rows. ``held_back``: the restriction of the expiry.

    All steps are skipped if runs of the branches ``fresh`` may be in progress. Data files are not compacted if this
    would cost the models ``hinders`` more than it saves. No snapshot expires if the positions of the models ``unknown``
    cannot be read, or if other tables may use the files (``is_shared``). Orphan files are not removed if the tables
    ``listed_with`` have files in the folder, or if the folders of the tables ``unlocated`` are unknown.
    """

    table: TableName
    is_left: bool = False
    fresh: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    order: OrderChange | None = None
    is_sorted: bool = False
    data: DataRewrite | None = None
    deletes: DeleteRewrite | None = None
    manifests: ManifestRewrite | None = None
    hinders: tuple[str, ...] = ()
    expiry: Expiry | None = None
    held_back: RetainedForReader | ExpiryRisk | None = None
    unknown: Mapping[str, str] = field(default_factory=dict)
    is_shared: bool = False
    listed_with: tuple[TableName, ...] = ()
    unlocated: tuple[TableName, ...] = ()


def plan_table(known: KnownTable, now_ms: int, max_age: timedelta | None = None) -> TablePlan:
    """The steps for a table. ``max_age``: the maximum age of snapshots, which overrides the table's own value."""
    name = known.history.table
    if known.branches.fresh:
        return TablePlan(name, fresh=known.branches.fresh)
    left = known.branches.left
    is_shared = not is_collected(known.history)
    expiry: Expiry | None = None
    held_back: RetainedForReader | ExpiryRisk | None = None
    if not known.unknown_readers and not is_shared:
        needs = {reader.model: needed_by(known.history, reader.position) for reader in known.readers}
        history = without_branches(known.history, left)
        expiry, held_back = plan_expiry(history, known.needed, needs, now_ms, max_age)
    properties = known.history.properties
    hinders = tuple(reader.model for reader in known.readers if hinders_compaction(known.history, reader))
    data, deletes, manifests = None, None, None
    if known.live is not None:
        data = plan_data(known.live, properties)
        rewritten = frozenset[str]() if data is None or hinders else data.paths
        deletes = plan_deletes(known.live, properties, rewritten) if known.history.format_version == 2 else None
        manifests = plan_manifests(known.live, properties, rewritten)
    return TablePlan(
        table=name,
        left=left,
        order=known.order,
        is_sorted=bool(known.order or known.history.sorted_by),
        data=None if hinders else data,
        deletes=deletes,
        manifests=manifests,
        hinders=hinders if data is not None else (),
        expiry=expiry,
        held_back=held_back,
        unknown=known.unknown_readers,
        is_shared=is_shared,
    )
