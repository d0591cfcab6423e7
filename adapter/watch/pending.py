"""``pending``: one check for due nodes, for schedulers that run dbt themselves."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from iceberg_incremental.explain.model_errors import changed_since

from ..status.model_status import ModelStatus
from .due import Dag
from .project import Project

DUE, FAILING, NOTHING = 0, 1, 99
"""Exit codes. By default, Airflow's BashOperator skips a task that exits with 99."""
_VERSION = 1


@dataclass(frozen=True)
class Pending:
    """The due nodes. ``select``: due nodes, their downstream nodes, and the tests that run before them.

    ``exclude``: data tests of these nodes that are not selected, or that read a waiting node. ``select`` and
    ``exclude`` are terms of dbt's options.
    """

    select: Sequence[str]
    exclude: Sequence[str]
    due: Sequence[str]
    failing: Sequence[str]
    statuses: Mapping[str, ModelStatus]

    @property
    def exit_code(self) -> int:
        """DUE if a node is due, otherwise FAILING if a model's next run would fail, otherwise NOTHING."""
        return DUE if self.due else FAILING if self.failing else NOTHING


def pending(project: Project, dag: Dag, statuses: Mapping[str, ModelStatus], outdated: Collection[str] = ()) -> Pending:
    """The due nodes among the selected models, and the ``outdated`` tables of dbt's own materializations.

    Downstream nodes of a model that would fail wait, as in dbt. The tests of upstream nodes run first, because it is
    unknown whether they have passed.
    """
    failing = sorted(model for model, status in statuses.items() if status.fails)
    reach = dag.reach({*outdated, *(model for model, status in statuses.items() if status.is_due)}, failing)
    select = project.selector({*reach.nodes, *project.tests_before(reach)})
    exclude = project.excluded(reach)
    return Pending(select, exclude, sorted(reach.due), failing, statuses)


def as_text(found: Pending) -> str:
    """The terms for ``--select`` in one line. Empty if nothing is due."""
    return " ".join(found.select)


def as_json(found: Pending) -> str:
    """One JSON object: the selection, and the status of each selected model as in ``ip_status``, with its lag."""
    now_ms = int(time.time() * 1000)
    models: list[dict[str, Any]] = [
        {
            **asdict(status),
            "due": model in found.due,
            "lag_seconds": None if (lag := status.lag_ms(now_ms)) is None else lag / 1000,
        }
        for model, status in sorted(found.statuses.items())
    ]
    shown = {
        "version": _VERSION,
        "select": as_text(found),
        "exclude": " ".join(found.exclude),
        "due": list(found.due),
        "failing": list(found.failing),
        "models": models,
    }
    return json.dumps(shown, indent=2)


def complaints(found: Pending) -> list[str]:
    """The messages for users: models whose next run would fail, and edited models."""
    failing = [f"{model}: {found.statuses[model].error}" for model in found.failing]
    changed = {model: status.logic_changed_since for model, status in sorted(found.statuses.items())}
    edited = [f"{model}: {changed_since(after)}" for model, after in changed.items() if after is not None]
    return failing + edited
