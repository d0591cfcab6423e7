"""What the macros call, as ``adapter.ip.<room>.<method>``. The rules are in the engine; here dbt meets them."""

from __future__ import annotations

from .adapter import Adapter
from .audit import AuditHooks
from .capture import CaptureHooks
from .dbt_models import DbtModelHooks
from .explain import ExplainHooks
from .invocation import Invocations
from .model import ModelHooks
from .operations import OperationHooks
from .plain_sql import PlainSqlHooks
from .python_models import PythonModelHooks
from .strategies import StrategyHooks
from .tables import TablesInUse
from .write import WriteHooks


class Hooks:
    """The rooms of hooks of one adapter, shared by its threads."""

    def __init__(self, adapter: Adapter) -> None:
        invocations = Invocations(adapter, TablesInUse(adapter))
        self.capture = CaptureHooks(adapter, invocations)
        self.model = ModelHooks(adapter, invocations)
        self.audit = AuditHooks(adapter, invocations)
        self.plain_sql = PlainSqlHooks(adapter, invocations, self.audit)
        self.strategies = StrategyHooks(adapter, invocations)
        self.write = WriteHooks(adapter, invocations, self.audit, self.plain_sql)
        self.python = PythonModelHooks(adapter, invocations, self.capture)
        self.dbt_models = DbtModelHooks(adapter, invocations)
        self.explain = ExplainHooks(adapter, invocations, self.plain_sql, self.write)
        self.operations = OperationHooks(adapter, invocations)
