"""The methods that macros in a model's SQL call: ``adapter.ip.capture``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.events.logging import AdapterLogger

from iceberg_incremental.errors import IncrementalError, SourceMissingError
from iceberg_incremental.explain import auto_errors, model_errors
from iceberg_incremental.expose.captures import Captures
from iceberg_incremental.expose.value_range import PARSED, ValueRange
from iceberg_incremental.plan.configs import ModelConfigs
from iceberg_incremental.plan.policy import Strategy
from iceberg_incremental.plan.ranges import PER_COMMIT

from ..project.captured import Captured
from .invocation import ModelContext, ModelRun, Namespace
from .macros import ARGUMENTS, READS, relations_in

logger = AdapterLogger("SparkIceberg")


class CaptureHooks(Namespace):
    """Captures the sources that the macros of models read. A model's first macro opens its run."""

    def require_arguments(self, macro: str, positional: Sequence[object], named: Mapping[str, object]) -> None:
        """Raise ArgumentsError if a macro was called with positional or named arguments that it does not accept."""
        if positional or named:
            raise model_errors.unknown_arguments(
                macro, ARGUMENTS[macro], len(positional), list(named), ModelConfigs.table()
            )

    def read(self, macro: str, relation: object, arguments: Mapping[str, Any], context: Mapping[str, Any]) -> object:
        """The result of a macro that reads a relation: SQL text, values, or the relation itself.

        ``arguments``: the additional arguments of the macro. ``context``: the values of a ModelContext. Raises
        IncrementalError.
        """
        read, model = READS[macro], ModelContext(**context)
        if macro == "ip_changelog" and model.node["config"].get("incremental_strategy") == Strategy.HISTORY.value:
            arguments = {**arguments, "per": arguments.get("per") or PER_COMMIT, "with_commit": True}
        relations = relations_in(macro, relation, several=read.several)
        if model.is_unit_test:
            return read.as_given(relation, arguments)
        for each in relations:
            if each.type == RelationType.CTE:
                raise model_errors.ephemeral(macro, str(each.identifier), model.unique_id)
        self._require_macros(macro, model)
        try:
            found = self._invocations.of(macro, model)
            if model.partial:
                found.run.plan = replace(found.run.plan, passes_through=True)
                captures = self._captures(macro, found, relations, model)
                return (
                    read.as_given(relation, arguments)
                    if read.sampled is None
                    else read.sampled(captures, relations, arguments)
                )
            return self._captured(macro, found, relations, arguments, model)
        except SourceMissingError:
            if not model.only_shows_sql:
                raise
        except IncrementalError as error:
            if not model.only_documents:
                raise
            logger.warning(f"{model.unique_id} is documented without its captured range. {error}")
        return read.as_given(relation, arguments)

    def range_while_parsing(self) -> ValueRange:
        """The result of ``ip_range`` while dbt parses the project, before anything is captured."""
        return PARSED

    def is_incremental(self, context: Mapping[str, Any]) -> bool:
        """Whether a model of this materialization continues its table, so that ``is_incremental()`` is true."""
        self._require_macros("is_incremental", ModelContext(**context))
        return not self._invocations.of("is_incremental", ModelContext(**context)).run.plan.is_rebuild

    def _require_macros(self, macro: str, model: ModelContext) -> None:
        """Raise ConfigError for a model with the strategy ``auto``, which does not support these macros."""
        if self._invocations.policy(model.node).strategy is Strategy.AUTO:
            if model.node.get("language") == "python":
                raise auto_errors.auto_in_python(model.unique_id)
            raise auto_errors.reads_changes_itself(model.unique_id, macro)

    def _captured(
        self,
        macro: str,
        found: ModelRun,
        relations: Sequence[BaseRelation],
        arguments: Mapping[str, Any],
        model: ModelContext,
    ) -> str | ValueRange:
        changing = arguments.get("changes_of")
        more = [] if changing is None else list(relations_in(macro, changing, several=True))
        captures = self._captures(macro, found, [*relations, *more], model)
        sources, changes_of = (list(map(self._adapter.lookup.table_name, each)) for each in (relations, more))
        given = READS[macro].captured(captures, sources, {**arguments, "changes_of": changes_of})
        if isinstance(given, str):
            found.given.setdefault(given, set()).add(Captured(macro, sources[0]))
        return given

    def _captures(
        self, macro: str, found: ModelRun, relations: Sequence[BaseRelation], model: ModelContext
    ) -> Captures:
        by_name = {self._adapter.lookup.table_name(each): each for each in relations}
        return Captures(
            macro,
            found.run,
            self._invocations.current().cuts,
            self._adapter.spark,
            lambda table: self._tables.column_types(by_name[table]),
            shows_sql=model.only_shows_sql,
        )
