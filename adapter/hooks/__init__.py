"""What the macros call, as ``adapter.ip.<room>.<method>``. The rules are in the engine; here dbt meets them.

adapter      what the hooks ask of the adapter
context      what a macro says of the model that is compiled, as one value
invocation   the runs of an invocation's models
tables       the tables that nodes and relations stand for
capture      what the macros in a model's SQL call; ``reads`` has them in one table, ``arguments`` checks what they got
model        a model of this package, before it is written
results      SQL whose result is wrong from the second run on, refused
write        the rows of a model, and the statements of the strategies; ``report``: what dbt gets to know
audit        a model's data tests on its staged rows
holds        tags in the sources that keep a model's positions
python       models in Python: what their calls capture, and their results
dbt_models   what dbt's own materializations share with this package
operations   ``dbt run-operation``
documentation, freshness, spelling   what dbt itself calls, by the adapter's methods
"""

from __future__ import annotations

from typing import Any

from ..spark.as_dbt import raising_dbts
from .adapter import Adapter
from .audit import AuditHooks
from .capture import CaptureHooks
from .dbt_models import DbtModelHooks
from .holds import HoldHooks
from .invocation import Invocations
from .model import ModelHooks
from .operations import OperationHooks
from .python_models import PythonModelHooks
from .tables import Tables
from .write import WriteHooks


class Hooks:
    """The rooms of hooks of one adapter, shared by its threads."""

    def __init__(self, adapter: Adapter) -> None:
        tables = Tables(adapter)
        invocations = Invocations(adapter, tables)
        capture, audit = CaptureHooks(adapter, invocations, tables), AuditHooks(adapter, invocations, tables)
        self.capture = _ForMacros(capture)
        self.model = _ForMacros(ModelHooks(adapter, invocations))
        self.write = _ForMacros(WriteHooks(adapter, invocations, audit))
        self.audit = _ForMacros(audit)
        self.holds = _ForMacros(HoldHooks(adapter, invocations))
        self.python = _ForMacros(PythonModelHooks(adapter, invocations, capture))
        self.dbt_models = _ForMacros(DbtModelHooks(adapter))
        self.operations = _ForMacros(OperationHooks(adapter, invocations, tables))


class _ForMacros:
    """Hooks as macros call them: the engine's errors are dbt's."""

    def __init__(self, hooks: object) -> None:
        self._hooks = hooks

    def __getattr__(self, name: str) -> Any:
        return raising_dbts(getattr(self._hooks, name))
