"""Python models: the captures of their ``dbt.ip_…`` calls, and their result as a relation for SQL."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from dbt.adapters.base import BaseRelation

from iceberg_incremental.capture.run_plan import Action
from iceberg_incremental.expose.value_range import ValueRange
from iceberg_incremental.write.order.held_changes import HeldChanges

from ..as_dbt import of_dbt
from ..project import project_errors
from ..project.conditional_reads import CHANGES
from ..project.graph import Node
from ..project.own_table import reads_itself
from ..project.python_calls import Parent, calls_in, key_of, require_known
from ..spark.python_models import PythonModel
from .adapter import Adapter
from .capture import CaptureHooks
from .invocation import Invocations, Namespace
from .macros import ARGUMENTS, READS

Resolve = Callable[..., object]
"""dbt's ``ref`` or ``source``."""


class PythonModelHooks(Namespace):
    """The methods for macros of compiled Python and for the materializations: ``adapter.ip.python``."""

    def __init__(self, adapter: Adapter, invocations: Invocations, capture: CaptureHooks) -> None:
        super().__init__(adapter, invocations)
        self._capture = capture

    def reads(
        self, node: Node, ref: Resolve, source: Resolve, context: Mapping[str, Any]
    ) -> dict[str, str | dict[str, Any]]:
        """The result of each ``dbt.ip_…`` call in a model's code, by the key of the call: SQL, or values.

        ``ref``, ``source``: dbt's functions for this model. Raises IncrementalError.
        """

        def relation_of(parent: Parent) -> object:
            names = parent.reference.names
            return source(*names) if parent.reference.kind == "source" else ref(*names, v=parent.version)

        def name_of(parent: Parent) -> str:
            """The name in the compiled code. For a source with ``--empty``, dbt writes a subquery."""
            relation = relation_of(parent)
            if isinstance(relation, BaseRelation) and parent.reference.kind == "ref":
                return relation.render()
            return str(relation)

        require_known(str(node["raw_code"]), list(READS), str(node["unique_id"]))
        found: dict[str, str | dict[str, Any]] = {}
        for call in calls_in(str(node["raw_code"]), list(READS), str(node["unique_id"])):
            positional, named = _with(list(call.positional), relation_of), _with(dict(call.named), relation_of)
            names = ARGUMENTS[call.name]
            others = {name: value for name, value in named.items() if name not in names}
            self._capture.require_arguments(call.name, positional[len(names) :], others)
            arguments = {**dict.fromkeys(names), **dict(zip(names, positional, strict=False)), **named}
            given = self._capture.read(call.name, arguments.pop("relation"), arguments, context)
            key = key_of(call.name, _with(list(call.positional), name_of), _with(dict(call.named), name_of))
            found[key] = asdict(given) if isinstance(given, ValueRange) else str(given)
        return found

    def batch(self, node: Node, ref: Resolve) -> dict[str, str]:
        """The relations that ``dbt.ref()`` reads in a batch of the strategy microbatch, by name, as SQL.

        dbt's compiled Python reads the whole relation, also with ``--empty`` and ``--sample``. A batch inserts all rows
        that it reads, so it must read only the rows of its own time range.
        """
        if not node.get("batch"):
            return {}
        parents = ((each.get("package"), each["name"], each.get("version")) for each in node["refs"])
        relations = (ref(*filter(None, (package, name)), v=version) for package, name, version in parents)
        return {each.render(): str(each) for each in relations if isinstance(each, BaseRelation)}

    def run(self, node: Node, code: str, view: BaseRelation, once: bool) -> str:
        """Run a Python model. Returns the query of its result, which is in a temporary ``view``.

        ``once``: whether several statements read the rows, which are then computed once. Raises ConfigError if the code
        did not execute all calls that read changes, and DbtRuntimeError if it failed.
        """
        name, file = str(node["unique_id"]), str(node["original_file_path"])
        model = PythonModel(
            name, file, code, list(READS), key_of, lambda each: of_dbt(project_errors.unknown_read(each, name))
        )
        found = self._invocations.if_opened(node)
        if found is not None and found.run.plan.action is Action.APPLY and reads_itself(node, found.run.plan.name):
            HeldChanges(found.run, self._adapter.spark, self._adapter.metadata_reader()).note_own_rows()
        self._adapter.connections.run_python(model, str(view.identifier), once=once)
        left_out = [key for key in model.reads.keys() - model.called if json.loads(key)[0] in CHANGES]
        if left_out:
            raise project_errors.not_read(name, map(_text, left_out))
        return f"select * from {view.render()}"


def _with(value: Any, instead: Callable[[Parent], object]) -> Any:
    """One or more arguments, with each ref and source replaced by ``instead``."""
    if isinstance(value, list):
        return [_with(each, instead) for each in value]
    if isinstance(value, dict):
        return {name: _with(each, instead) for name, each in value.items()}
    return instead(value) if isinstance(value, Parent) else value


def _text(key: str) -> str:
    name, positional, named = json.loads(key)
    return f"dbt.{name}({', '.join([*map(str, positional), *(f'{k}={v}' for k, v in named.items())])})"
