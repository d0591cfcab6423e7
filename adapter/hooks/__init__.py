"""What the macros call: the adapter's ``ip_`` methods. The rules are elsewhere; here they meet dbt.

context      what a macro says of the model that is compiled, as one value
arguments    what a macro was given, checked
reads        the macros that read a relation, in one table
captures     the runs of an invocation, and what their macros capture: all calls into ``capture``
base         what the hooks need of the adapter, and share
changes      the changes that a run applies, as views whose rows are held
results      SQL whose result is wrong from the second run on, refused
models       a model of this package, from its first macro to its commit
audits       a model's data tests on its staged rows
holds        tags in the sources that keep a model's positions
python_models  the same in Python: what its calls capture, and its result as a relation
strategies   the columns, keys and expressions that the statements of the strategies are made of
dbt_models   what dbt's own materializations share with this package
operations   ``dbt run-operation`` and the stats of ``dbt docs generate``
freshness    ``dbt source freshness``
spelling     misspelt macros, before dbt compiles the models
"""

from __future__ import annotations

from .dbt_models import DbtModelHooks
from .freshness import FreshnessHooks
from .holds import HoldHooks
from .operations import OperationHooks
from .python_models import PythonModelHooks
from .spelling import SpellingHooks
from .strategies import StrategyHooks

__all__ = ["IncrementalHooks"]


class IncrementalHooks(
    PythonModelHooks, StrategyHooks, DbtModelHooks, OperationHooks, FreshnessHooks, HoldHooks, SpellingHooks
):
    """The part of the adapter that incremental processing adds; the adapter gives it the reader and the names."""
