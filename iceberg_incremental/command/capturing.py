"""The subcommands ``capture`` and ``status``: plan a run, and create the branch on which its job stages rows."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace

from ..capture import reads
from ..capture.cuts import Cuts
from ..capture.next_run import NextRun, next_run
from ..capture.open import open_run
from ..capture.run_plan import Action, Read, RunPlan
from ..capture.target_checkpoint import target_checkpoint
from ..errors import NotIcebergError
from ..explain import job_errors, rebuild_reasons
from ..plan.policy import Policy
from ..publish.fence import Fence
from ..table.commits import same_rows
from ..table.history import MAIN, History, TableName
from .job_catalogs import JobCatalogs
from .run_file import CapturedRun
from .target_commits import Expected, TargetMovedError

READS = (Read.CHANGES, Read.CHANGELOG, Read.PER_COMMIT, Read.AS_OF)
"""The ways in which a command may read a source."""


@dataclass(frozen=True)
class Request:
    """The requested run. ``sources``: each table with a value of READS. ``keeps_columns``: as in CapturedRun."""

    target: TableName
    name: str
    policy: Policy
    sources: tuple[tuple[TableName, str], ...] = ()
    full_refresh: bool = False
    keeps_columns: bool = True


def capture(catalogs: JobCatalogs, request: Request) -> tuple[CapturedRun, RunPlan, Cuts]:
    """Capture a run, and create its branch if there are rows to write.

    Raises ConcurrentRunError if another writer commits to the target during the capture, ConfigError if the target does
    not exist or PyIceberg cannot commit to it, NotKeptError if the catalog does not keep branches, and the errors of
    ``open_run`` and ``reads.capture``.
    """
    cuts = Cuts(lambda: catalogs.reader)
    cuts.take_together(lambda: {table for table, _ in request.sources})
    target, plan = _opened(catalogs, cuts, request)
    for table, read in request.sources:
        if table == request.target:
            raise job_errors.reads_its_target(table)
        plan = reads.capture(plan, cuts, table, Read(read))
    action = plan.action
    begun = CapturedRun(
        name=request.name,
        target=request.target,
        table_uuid=target.table_uuid or "",
        action=action,
        head=target.current_snapshot_id,
        schema_id=None,
        branch=None,
        branch_from=None,
        captured_from=plan.checkpoint,
        checkpoint=None if action is Action.NOTHING else plan.next_checkpoint(),
        keeps_columns=request.keeps_columns,
    )
    if action in (Action.REBUILD, Action.APPLY):
        begun = _begun(catalogs, target, plan, begun)
    return begun, plan, cuts


def status(catalogs: JobCatalogs, request: Request) -> NextRun:
    """The plan of the next run, from metadata only. Raises the errors of ``capture``."""
    cuts = Cuts(lambda: catalogs.reader)
    target, plan = _opened(catalogs, cuts, request)
    checkpoint = plan.checkpoint or target_checkpoint(target, catalogs.reader).checkpoint
    known = [TableName.parse(name) for name in (checkpoint.sources if checkpoint is not None else ())]
    given = [table for table, _ in request.sources]
    tables = dict.fromkeys([*(table for table in known if table is not None), *given])
    return next_run(plan, cuts, tables)


def _opened(catalogs: JobCatalogs, cuts: Cuts, request: Request) -> tuple[History, RunPlan]:
    """The current state of the target, and the plan of its run before any capture."""
    try:
        target = catalogs.reader.load(request.target)
    except NotIcebergError as error:
        raise job_errors.target_not_iceberg(error, request.target) from error
    if target is None:
        raise job_errors.job_target_missing(request.target)
    is_first = not request.full_refresh and _is_new(catalogs, target)
    plan = open_run(
        catalogs.reader,
        cuts,
        model=request.name,
        target=request.target,
        policy=request.policy,
        invocation_id=str(uuid.uuid4()),
        full_refresh=request.full_refresh or is_first,
    )
    return target, replace(plan, reason=rebuild_reasons.FIRST_BUILD) if is_first else plan


def _is_new(catalogs: JobCatalogs, target: History) -> bool:
    """Whether a table has neither rows nor a checkpoint, so that this run is the first."""
    return (
        same_rows(target, None, target.current_snapshot_id)
        and target_checkpoint(target, catalogs.reader).checkpoint is None
    )


def _begun(catalogs: JobCatalogs, target: History, plan: RunPlan, run: CapturedRun) -> CapturedRun:
    """The run after its branch is created. The branch starts at the current snapshot of main.

    If main has no snapshot, or in a rebuild, the branch starts empty. In a rebuild, it is first created at the current
    snapshot. If the catalog does not keep it, an empty snapshot would become the current one, and empty the table.
    """
    commits = catalogs.commits(target)
    expected = Expected(run.table_uuid, {MAIN: run.head, plan.branch: None}, commits.schema_id())
    try:
        if run.head is None:
            began_at = commits.begin_empty_branch(plan.branch, expected)
            _require_kept(catalogs, target, plan)
        else:
            began_at = commits.begin_branch(plan.branch, expected)
            _require_kept(catalogs, target, plan)
            if plan.is_rebuild:
                at_head = replace(expected, refs={MAIN: run.head, plan.branch: run.head})
                began_at = commits.begin_empty_branch(plan.branch, at_head)
    except TargetMovedError as error:
        raise job_errors.main_moved(catalogs.reader.load(run.target) or target, run.name, run.head) from error
    return replace(run, schema_id=expected.schema_id, branch=plan.branch, branch_from=began_at)


def _require_kept(catalogs: JobCatalogs, target: History, plan: RunPlan) -> None:
    """Raise an error unless the catalog has kept the branch, as ``Fence.require_kept_branch`` does."""
    fence = Fence(catalogs.reader)
    if plan.branch not in fence.loaded(plan).refs:
        replaced = target_checkpoint(target, catalogs.reader).checkpoint if plan.is_rebuild else None
        fence.require_kept_branch(replace(plan, replaced=replaced))
