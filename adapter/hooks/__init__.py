"""What the macros call, as ``adapter.ip.<room>.<method>``. The rules are in the engine; here dbt meets them.

adapter      what the hooks ask of the adapter
context      what a macro says of the model that is compiled, as one value
invocation   the runs of an invocation's models
tables       the tables that nodes and relations stand for
capture      what the macros in a model's SQL call; ``reads`` has them in one table, ``arguments`` checks what they got
model        a model of this package, before it is written
results      SQL whose result is wrong from the second run on, refused
write        the columns and rows of a model; ``report``: what dbt gets to know
strategies   the statements of the strategies
plain_sql    models with the strategy auto: what their SQL reads, and how their tables are kept equal to it
audit        a model's data tests on its staged rows
holds        tags in the sources that keep a model's positions
python       models in Python: what their calls capture, and their results
dbt_models   what dbt's own materializations share with this package
operations   ``dbt run-operation``; ``explain``: that of ip_explain, which plans as a run does
documentation, freshness, spelling   what dbt itself calls, by the adapter's methods
"""

from __future__ import annotations

from .adapter import Adapter
from .audit import AuditHooks
from .capture import CaptureHooks
from .dbt_models import DbtModelHooks
from .explain import ExplainHooks
from .holds import HoldHooks
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
        tables = TablesInUse(adapter)
        invocations = Invocations(adapter, tables)
        self.capture = CaptureHooks(adapter, invocations, tables)
        self.model = ModelHooks(adapter, invocations)
        self.audit = AuditHooks(adapter, invocations, tables)
        self.plain_sql = PlainSqlHooks(adapter, invocations, self.audit)
        self.strategies = StrategyHooks(adapter, invocations)
        self.write = WriteHooks(adapter, invocations, self.audit, self.plain_sql)
        self.holds = HoldHooks(adapter, invocations)
        self.python = PythonModelHooks(adapter, invocations, self.capture)
        self.dbt_models = DbtModelHooks(adapter)
        self.explain = ExplainHooks(adapter, invocations, tables, self.plain_sql, self.write)
        self.operations = OperationHooks(adapter, invocations, tables)
