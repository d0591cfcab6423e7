"""``ip_set_checkpoint``: sets a model back, or takes over a table that was built in another way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from iceberg_incremental.capture.logic_change import recorded_logic
from iceberg_incremental.capture.run_plan import sequence_of
from iceberg_incremental.capture.target_checkpoint import target_checkpoint
from iceberg_incremental.explain import race_errors, source_errors, target_errors
from iceberg_incremental.explain.wording import command, described, short, skips
from iceberg_incremental.metadata import MetadataReader
from iceberg_incremental.plan.policy import Policy, Strategy
from iceberg_incremental.plan.ranges import position_at
from iceberg_incremental.publish.publisher import Publisher
from iceberg_incremental.table.checkpoint import Checkpoint, Position, RecordedLogic, is_later
from iceberg_incremental.table.checkpoint_state import CheckpointState
from iceberg_incremental.table.commits import PART_KEY, Effect, effect
from iceberg_incremental.table.history import History, Snapshot, TableName
from iceberg_incremental.table.recorded_history import RecordedHistory

from ..project import graph as project
from ..project.jinja import JinjaScope
from ..project.model_config import policy_of
from ..project.model_logic import logic_of
from . import operation_errors
from .arguments import flag, whole_number


def set_checkpoint(
    reader: MetadataReader,
    publisher: Publisher,
    names: project.ProjectTables,
    scope: JinjaScope,
    invocation_id: str,
    arguments: Mapping[str, Any],
) -> str:
    """Write a checkpoint to the property of a model's table. Returns the report.

    ``arguments``: ``model``; ``source`` with ``snapshot_id`` or ``timestamp``; ``accept_sql``. Raises
    IncrementalError.
    """
    if arguments.get("model") is None:
        raise operation_errors.checkpoint_of_no_model()
    node = project.model_named(names.graph, arguments["model"])
    name = names.of(node)
    target = reader.load(name)
    if target is None:
        raise operation_errors.target_missing(name, str(node["unique_id"]))
    source = arguments.get("source")
    timestamp = arguments.get("timestamp")
    policy = policy_of(node["config"], node["unique_id"])
    known = target_checkpoint(target, reader)
    checkpoint = new_checkpoint(
        reader,
        model=node["unique_id"],
        policy=policy,
        target=target,
        source=None if source is None else project.table_named(str(source), list(names.read_by(node))),
        snapshot_id=whole_number(arguments.get("snapshot_id"), "snapshot_id"),
        timestamp=None if timestamp is None else str(timestamp),
        invocation_id=invocation_id,
    )
    accepted = None
    if flag(arguments.get("accept_sql"), "accept_sql"):
        if source is None:
            _require_sound(target, str(node["unique_id"]), known)
        accepted = logic_of(node, names.graph, scope)
        checkpoint = replace(
            checkpoint, logic=recorded_logic(accepted, None, {} if checkpoint.logic is None else checkpoint.logic.types)
        )
    said = [
        f"{name} continues as epoch {checkpoint.epoch} of {checkpoint.model}. The next run reads the commits after:"
    ]
    said += [f"  {source}: {described(position)}" for source, position in checkpoint.sources.items()]
    if accepted is not None:
        said.append(f"All rows of {name} now count as written by the current logic of {checkpoint.model}.")
    said += _consequences(reader, checkpoint, known, policy.strategy)
    publisher.set_checkpoint(target, checkpoint, accepted)  # last, so that nothing is set if an error is raised
    return "\n".join(said)


def _consequences(
    reader: MetadataReader, checkpoint: Checkpoint, known: CheckpointState, strategy: Strategy
) -> Iterator[str]:
    """What the next run does at the new positions."""
    if strategy is Strategy.AUTO:
        yield (
            f"The next run of {short(checkpoint.model)} replaces all rows, since they may not match the new positions."
        )
        return
    present = known.checkpoint or known.unproven
    for source, before in ({} if present is None else present.sources).items():
        now = checkpoint.sources[source]
        if _is_back(now, before):
            if strategy is Strategy.APPEND:
                back = command(
                    "ip_set_checkpoint", model=short(checkpoint.model), source=source, snapshot_id=before.snapshot_id
                )
                yield (
                    f"This is before {described(before)} of {source}, which the model has already read. The next run "
                    "reads the rows in between again and appends them, so delete them from the table first. To undo "
                    f"this: `{back}`"
                )
        elif now.snapshot_id != before.snapshot_id:
            yield skips(checkpoint.model, source, before, _skipped(reader, source, before, now))


def _require_sound(target: History, model: str, known: CheckpointState) -> None:
    """Raise IncrementalError if a table contains only a part of a run, or has no checkpoint.

    ``accept_sql`` accepts the logic of the rows, but not missing rows or positions.
    """
    if known.half_published is not None:
        raise race_errors.half_published(target, model, known.half_published)
    if known.checkpoint is None:
        raise target_errors.missing_checkpoint(target.table, model, known)


def _skipped(reader: MetadataReader, source: str, before: Position, now: Position) -> list[Snapshot] | None:
    """The commits that changed rows between two positions. None if the history does not connect them."""
    table = TableName.parse(source)
    history = None if table is None else reader.load(table)
    end = None if history is None else history.snapshots.get(now.snapshot_id or 0)
    if history is None or end is None:
        return None
    commits = history.commits_since(before.snapshot_id, end)
    return None if commits is None else [commit for commit in commits if effect(commit) is not Effect.NONE]


def new_checkpoint(
    reader: MetadataReader,
    *,
    model: str,
    policy: Policy,
    target: History,
    source: TableName | None,
    snapshot_id: int | None,
    timestamp: str | None,
    invocation_id: str,
) -> Checkpoint:
    """The checkpoint to write to the target's property.

    ``source``: the source whose position is set. None keeps the positions, and assigns the checkpoint to this model.
    ``snapshot_id``: a snapshot of the source. ``timestamp``: a time in ISO 8601 (UTC without an offset). The position
    is then the last snapshot up to that time.

    Raises ConfigError for an invalid argument, and CheckpointError if there is no checkpoint to keep, or if a model
    that reads net changes would be set back.
    """
    found = target_checkpoint(target, reader)
    if found.partial:
        raise target_errors.partial_build(target.table, model)
    present = found.checkpoint or found.unproven
    known = None if present is None else present.sequence
    sequence = sequence_of(policy, None if known is None else known.deletions)
    if sequence is not None and known is not None and known.key:
        sequence = replace(sequence, key=known.key)  # rows that were older by this key are not in the table
    if source is None:
        if snapshot_id is not None or timestamp is not None:
            raise operation_errors.position_without_source()
        if present is None:
            raise target_errors.missing_checkpoint(target.table, model, found)
        kept = {name: _set_manually(position) for name, position in present.sources.items()}
        return Checkpoint(
            model,
            present.epoch + 1,
            invocation_id,
            kept,
            sequence=sequence,
            logic=_unread(present.logic),
            history=present.history,
        )
    history = reader.load(source)
    if history is None:
        raise source_errors.source_missing(source, model)
    position = position_at(history.table_uuid, _chosen(history, snapshot_id, timestamp))
    before = None if present is None else present.sources.get(str(source))
    if before is not None:
        if found.checkpoint is not None and (before.changelog or policy.nets_rewrites) and _is_back(position, before):
            raise target_errors.net_set_back(target.table, model, source, before)
        position = replace(position, as_of=before.as_of, changelog=before.changelog, per_commit=before.per_commit)
    return Checkpoint(
        model=model,
        epoch=1 if present is None else present.epoch + 1,
        invocation_id=invocation_id,
        sources={
            **({} if present is None else {name: _set_manually(each) for name, each in present.sources.items()}),
            str(source): position,
        },
        sequence=sequence,
        logic=None if present is None else _unread(present.logic),
        history=None if present is None else _not_whole(present.history),
    )


def _is_back(position: Position, before: Position) -> bool:
    """Whether a position is earlier than another one.

    Net changes since an earlier position omit a row that changed and changed back, but the table may contain the value
    from in between.
    """
    return position.snapshot_id != before.snapshot_id and is_later(before, position) is True


def _set_manually(position: Position) -> Position:
    """The same position, marked as one that no run has reached by reading rows."""
    return replace(position, continues=False, from_snapshot_id=None)


def _chosen(history: History, snapshot_id: int | None, timestamp: str | None) -> Snapshot:
    if (snapshot_id is None) == (timestamp is None):
        raise operation_errors.one_way_to_name_a_position(history.table)
    known = list(history.ancestors(history.current_snapshot_id))
    chain = [snapshot for snapshot in known if PART_KEY not in snapshot.summary]
    if not chain:
        raise operation_errors.no_position_yet(history.table)
    if snapshot_id is not None:
        for snapshot in chain:
            if snapshot.snapshot_id == snapshot_id:
                return snapshot
        is_part = any(snapshot.snapshot_id == snapshot_id for snapshot in known)
        raise operation_errors.not_a_position(snapshot_id, history, chain, is_part=is_part)
    moment = _milliseconds(str(timestamp))
    for snapshot in chain:
        if snapshot.timestamp_ms <= moment:
            return snapshot
    raise operation_errors.before_the_history(str(timestamp), history.table, chain[-1])


def _milliseconds(timestamp: str) -> int:
    try:
        moment = datetime.fromisoformat(timestamp.replace("Z", "+00:00"))
    except ValueError as error:
        raise operation_errors.not_a_time(timestamp) from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return int(moment.timestamp() * 1000)


def _not_whole(history: RecordedHistory | None) -> RecordedHistory | None:
    """The record of a history for which the next run may skip events of the log."""
    return None if history is None else replace(history, has_whole_log=False)


def _unread(logic: RecordedLogic | None) -> RecordedLogic | None:
    """The logic without the recorded reading, because rows may not match the new position.

    The next run then rebuilds the table of a model with the strategy ``auto``.
    """
    return None if logic is None else replace(logic, reading=None)
