"""The methods that macros call as ``adapter.ip.<namespace>.<method>``. They connect dbt to the engine."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from .adapter import Adapter, TablesInUse
from .audit import AuditHooks
from .capture import CaptureHooks
from .clones import CloneHooks
from .dbt_models import DbtModelHooks
from .history import HistoryHooks
from .invocation import Invocations
from .model import ModelHooks
from .operations import OperationHooks
from .python_models import PythonModelHooks
from .strategies import StrategyHooks
from .write import WriteHooks

if TYPE_CHECKING:
    from .explain import ExplainHooks
    from .plain_sql import PlainSqlHooks
    from .snapshots import SnapshotHooks
    from .verify import VerifyHooks


class Hooks:
    """The hooks of one adapter, by namespace. All threads of the adapter share them."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self.invocations = invocations = Invocations(adapter, TablesInUse(adapter))
        self.capture = CaptureHooks(adapter, invocations)
        self.model = ModelHooks(adapter, invocations)
        self.audit = AuditHooks(adapter, invocations)
        self.strategies = StrategyHooks(adapter, invocations)
        self.history = HistoryHooks(adapter, invocations)
        self.write = WriteHooks(adapter, invocations, self.audit, lambda: self.plain_sql)
        self.python = PythonModelHooks(adapter, invocations, self.capture)
        self.clones = CloneHooks(adapter, invocations)
        self.dbt_models = DbtModelHooks(adapter, invocations)
        self.operations = OperationHooks(adapter, invocations)

    @cached_property
    def plain_sql(self) -> PlainSqlHooks:
        """Models with the strategy ``auto``.

        Imported on first use, because importing sqlglot takes a tenth of a second.
        """
        from .plain_sql import PlainSqlHooks

        return PlainSqlHooks(self._adapter, self.invocations, self.audit)

    @cached_property
    def explain(self) -> ExplainHooks:
        """``ip_explain``."""
        from .explain import ExplainHooks

        return ExplainHooks(self._adapter, self.invocations, self.plain_sql, self.write)

    @cached_property
    def snapshots(self) -> SnapshotHooks:
        """The hooks for dbt's snapshots."""
        from .snapshots import SnapshotHooks

        return SnapshotHooks(self._adapter, self.invocations, self.plain_sql)

    @cached_property
    def verify(self) -> VerifyHooks:
        """``ip_verify`` and ``ip_equals_rebuild``."""
        from .verify import VerifyHooks

        return VerifyHooks(self._adapter, self.invocations, self.plain_sql, self.python)
