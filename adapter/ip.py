"""The object ``adapter.ip``: the methods that macros call as ``adapter.ip.<namespace>.<method>``."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from .hooks.adapter import Adapter, TablesInUse
from .hooks.audit import AuditHooks
from .hooks.capture import CaptureHooks
from .hooks.dbt_models import CloneHooks, DbtModelHooks
from .hooks.invocation import Invocations
from .hooks.model import ModelHooks
from .hooks.python_models import PythonModelHooks
from .hooks.strategies import StrategyHooks
from .hooks.versions import HistoryHooks
from .hooks.write import WriteHooks
from .operations.run_operation import OperationHooks

if TYPE_CHECKING:
    from .hooks.auto import AutoHooks
    from .hooks.snapshots import SnapshotHooks
    from .operations.explain import ExplainHooks
    from .operations.verify import VerifyHooks


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
        self.write = WriteHooks(adapter, invocations, self.audit, lambda: self.auto)
        self.python = PythonModelHooks(adapter, invocations, self.capture)
        self.clones = CloneHooks(adapter, invocations)
        self.dbt_models = DbtModelHooks(adapter, invocations)
        self.operations = OperationHooks(adapter, invocations)

    @cached_property
    def auto(self) -> AutoHooks:
        """Models with the strategy ``auto``.

        Imported on first use, because importing sqlglot takes a tenth of a second.
        """
        from .hooks.auto import AutoHooks

        return AutoHooks(self._adapter, self.invocations, self.audit)

    @cached_property
    def explain(self) -> ExplainHooks:
        """``ip_explain``."""
        from .operations.explain import ExplainHooks

        return ExplainHooks(self._adapter, self.invocations, self.auto, self.write)

    @cached_property
    def snapshots(self) -> SnapshotHooks:
        """The hooks for dbt's snapshots."""
        from .hooks.snapshots import SnapshotHooks

        return SnapshotHooks(self._adapter, self.invocations, self.auto)

    @cached_property
    def verify(self) -> VerifyHooks:
        """``ip_verify`` and ``ip_equals_rebuild``."""
        from .operations.verify import VerifyHooks

        return VerifyHooks(self._adapter, self.invocations, self.auto, self.python)
