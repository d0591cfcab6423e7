"""Finds the parts of a model's code that can make two builds from the same snapshots differ, by their names."""

from __future__ import annotations

import re

from ..query.text.dialect import may_be_moment
from ..query.text.functions import INEXACT_AGGREGATES, INEXACT_IN_WINDOWS, ROUNDING, VOLATILE, WITHOUT_PARENTHESES
from ..query.text.moments import moment_in, shown
from ..query.text.parsing import literals, parsed
from ..query.text.refusal import Refusal

_TEXTS = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL)
_CALL = re.compile(r"(?<![\w.])(\w+)\s*\(", re.IGNORECASE)
_NAME = re.compile(r"(?<![\w.])(\w+)\b(?!\s*[.(])", re.IGNORECASE)
_COLUMNS_TOO = frozenset({"user"})
"""Names of functions that are more often names of columns. They count only with parentheses."""
_LIMIT = re.compile(r"\blimit\s+\d", re.IGNORECASE)
_SAMPLE = re.compile(r"\btablesample\s*\((?!\s*(?:100\s+percent|0\s+rows)\s*\))", re.IGNORECASE)
"""A sample that is not all rows or none, as in the relations that this package passes to SQL."""
_WITHOUT_ARGUMENTS = re.compile(r"(?<![\w.])(unix_timestamp)\s*\(\s*\)", re.IGNORECASE)
_CHOOSING = (INEXACT_AGGREGATES | INEXACT_IN_WINDOWS) - ROUNDING
_PYTHON_CALL = re.compile(r"(?<!def )\b(\w+)\s*\(")
_IN_PYTHON = (VOLATILE - {"user", "version"}) | frozenset(
    {"today", "utcnow", "uuid1", "uuid4", "randint", "choice", "random_sample", "sample", "time_ns"}
)
_IN_JINJA = re.compile(r"\b(run_started_at|invocation_id|modules\.datetime|thread_id)\b")


def unsteady_sql(sql: str) -> list[str]:
    """The parts of a query whose value differs between builds, in order, such as ``rand()``."""
    text = _TEXTS.sub(" '' ", sql)
    found = [f"{name.lower()}()" for name in _CALL.findall(text) if name.lower() in VOLATILE]
    found += [f"{name.lower()}()" for name in _WITHOUT_ARGUMENTS.findall(text)]
    names = map(str.lower, _NAME.findall(text))
    found += [name for name in names if name in WITHOUT_PARENTHESES and name not in _COLUMNS_TOO]
    found += _moment(sql)
    found += ["TABLESAMPLE"] * bool(_SAMPLE.search(text))
    return list(dict.fromkeys(found))


def _moment(sql: str) -> list[str]:
    """A text that may stand for the time of the statement. In SQL that cannot be parsed, any such literal counts."""
    try:
        found = moment_in(parsed(sql))
    except Refusal:
        return [f"'{text}'" for text in literals(sql) if may_be_moment(text)]
    return [] if found is None else [shown(found)]


def unsteady_python(code: str) -> list[str]:
    """The calls in Python code whose value differs between builds, judged by their names."""
    return list(dict.fromkeys(f"{name}()" for name in _PYTHON_CALL.findall(code) if name in _IN_PYTHON))


def unsteady_jinja(template: str) -> list[str]:
    """The parts of a template whose value differs between dbt invocations."""
    return list(dict.fromkeys(_IN_JINJA.findall(template)))


def choosing_sql(sql: str) -> list[str]:
    """The parts of a query whose result may depend on the order in which Spark reads rows."""
    text = _TEXTS.sub(" '' ", sql)
    found = [f"{name.lower()}()" for name in _CALL.findall(text) if name.lower() in _CHOOSING]
    found += ["LIMIT"] * bool(_LIMIT.search(text))
    return list(dict.fromkeys(found))
