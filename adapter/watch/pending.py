"""``pending``: one look at what is due, for schedulers that run dbt themselves."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from iceberg_incremental.explain.logic_errors import changed_since

from ..status.status import ModelStatus
from .due import Dag
from .project import Project

DUE, FAILING, NOTHING = 0, 1, 99
"""Exit codes. 99 is the one at which Airflow's BashOperator skips what follows, unless it is given another."""


@dataclass(frozen=True)
class Pending:
    """What is due. ``select``: that, what it reaches, and tests before it, each as dbt's ``--select`` takes it.

    ``exclude``: their data tests that are not selected, or read a model that would fail, as ``--exclude`` takes them.
    """

    select: Sequence[str]
    exclude: Sequence[str]
    due: Sequence[str]
    failing: Sequence[str]
    statuses: Mapping[str, ModelStatus]

    @property
    def exit_code(self) -> int:
        """DUE, or where nothing is: FAILING if a model's next run would fail, else NOTHING."""
        return DUE if self.due else FAILING if self.failing else NOTHING


def pending(project: Project, dag: Dag, statuses: Mapping[str, ModelStatus], outdated: Collection[str] = ()) -> Pending:
    """What is due of the selected models, and of dbt's tables the ``outdated`` ones.

    What lies downstream of a model that would fail waits, as in dbt. The tests of what the nodes read stand before
    them, as nothing says whether they have passed.
    """
    failing = sorted(model for model, status in statuses.items() if status.fails)
    reach = dag.reach({*outdated, *(model for model, status in statuses.items() if status.is_due)}, failing)
    select = project.selector({*reach.nodes, *project.tests_before(reach)})
    exclude = project.excluded(reach)
    return Pending(select, exclude, sorted(reach.due), failing, statuses)


def as_text(found: Pending) -> str:
    """One line, to be given to ``--select``; empty where nothing is due."""
    return " ".join(found.select)


def as_json(found: Pending) -> str:
    """One object: the selector, and each selected model's status as ``ip_status`` has it, with its lag in seconds."""
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
        "select": as_text(found),
        "exclude": " ".join(found.exclude),
        "due": list(found.due),
        "failing": list(found.failing),
        "models": models,
    }
    return json.dumps(shown, indent=2)


def complaints(found: Pending) -> list[str]:
    """What a person should know of the models: the errors of those whose next run would fail, and edited ones."""
    failing = [f"{model}: {found.statuses[model].error}" for model in found.failing]
    changed = {model: status.logic_changed_since for model, status in sorted(found.statuses.items())}
    edited = [f"{model}: {changed_since(after)}" for model, after in changed.items() if after is not None]
    return failing + edited
