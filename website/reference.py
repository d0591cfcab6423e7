"""Generates docs/reference.md: macros and operations from macros/_macros.yml, configs and profile from this folder."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from iceberg_incremental.plan.configs import Config, Configs, ModelConfigs, NodeConfigs

from . import supported_sql
from .profile_fields import FIELDS, OF_DBT_SPARK

MACROS = Path(__file__).parents[1] / "macros"
_SIGNATURE = re.compile(r"{%\s*(?:macro|test)\s+\w+\((?P<arguments>[^)]*)\)")
_NAME = re.compile(
    r"\b(?:ref|source)\(\)|\b[a-z]+='[a-z]+'|(?<!\w)_?[a-z]+(?:_[a-z]+)+\b|(?<!\w)'[\w. ]+'(?!\w)|--[a-z-]+"
    r"|\b[a-z]+(?:\.[a-z-]+)+|\b(?:tag|path):…|[A-Z]+_[A-Z]+|\b(?:INSERT|DELETE)\b"
)
_VALUE = re.compile(r"\"(.+?)\"|'(.+?)'|\b(true|false)\b")
_OPERATION, _TEST = "Operation. ", "test_"

_HEAD = """# Reference

This page lists all macros, operations, data tests, configs and profile fields of the package.
"""
_MACROS = """## Macros

Unless its entry states otherwise, a macro is for models with `materialized='iceberg_incremental_snapshot'`.
[Patterns](patterns.md) shows when to use each macro.

- `relation` is a `ref()` or a `source()`, so dbt's lineage is complete.
- Call the macros after FROM or JOIN, in every run, and not only under `is_incremental()`. In a first build or full
  refresh, they return the whole relation, pinned at the captured snapshot.
- To qualify columns, add an alias: `from {{ ip_changes(ref('a')) }} as a`.
- With `--empty` or `--sample`, and in unit tests, the macros return the relation as dbt does. In a unit test,
  `ip_range` is empty, so override it in the test.
- In a [Python model](python-models.md#read-changes), most macros are methods of `dbt`.
"""
_OPERATIONS = """## Operations

Run an operation with `dbt run-operation <name> --args '{…}'`. [Operations](operations.md) shows the output. If an
operation has these arguments and does not describe them, they have this meaning:

- `model` is the name or unique id of one model. By default, an operation covers all models.
- `select` names models in the syntax of dbt's `--select`: names or unique ids with wildcards, `tag:…` and `path:…`. A
  space means union, and a comma means intersection.
- `format` is `'text'` or `'json'`.
"""
_STATED = {
    "The name or unique id of one model. By default, all models.",
    "Models, as for ip_status.",
    "Models, in the syntax of dbt's --select: names or unique ids with wildcards, tag:… and path:…. A space means "
    "union, and a comma means intersection.",
    "'text' or 'json'.",
}
"""The descriptions of arguments that the text above contains."""
_TESTS = """## Data tests

Add these generic tests to a model under `data_tests` in its properties.
"""
_CONFIGS = """## Configs

These configs apply to models with `materialized='iceberg_incremental_snapshot'`. Set them in the model's file, its
properties or `dbt_project.yml`. The first value is the default. If you misspell the name of a config, dbt stops with an
error that suggests the correct name. For models with other materializations, the adapter logs a warning.
"""
_FURTHER = """The following configs are not limited to this materialization:
"""
_AS_IN_DBT = """Contracts, grants, `persist_docs`, hooks, `sql_header`, `alias`, `schema`, `tags` and `meta` work as in
dbt's `incremental`, except that `history` does not support contracts. Open-source Spark [does not support
grants](limits.md#what-differs-from-other-databases).
"""
_SQL = """## SQL of auto

This table shows which rows a change of the sources affects if a model has `incremental_strategy='auto'`
([guide](plain-sql.md#supported-sql)). In a query with several of these constructs, each is updated in its own way. A
*part* of a query is a CTE or a derived table.
"""
_PROFILE = """## Profile

These are the fields of an output with `type: spark_iceberg` in `profiles.yml`. If a name is misspelled, dbt stops with
an error that suggests the correct name.
"""


def page() -> str:
    """The page as Markdown."""
    documented = macros()
    tests = [macro for macro in documented if macro["name"].startswith(_TEST)]
    operations = [macro for macro in documented if macro["description"].startswith(_OPERATION)]
    return "\n".join(
        [
            _HEAD,
            _MACROS,
            *(_macro(macro) for macro in documented if macro not in [*operations, *tests]),
            _OPERATIONS,
            *map(_macro, operations),
            _TESTS,
            *map(_macro, tests),
            _CONFIGS,
            *_configs(ModelConfigs),
            _FURTHER,
            *_configs(NodeConfigs),
            _AS_IN_DBT,
            _SQL,
            *_table(("affected rows", "SQL"), supported_sql.rows()),
            _PROFILE,
            *_table(("field", "meaning"), ((f"`{name}`", meaning) for name, meaning in FIELDS.items())),
            f"These fields work as in dbt-spark: {', '.join(f'`{name}`' for name in OF_DBT_SPARK)}.\n",
        ]
    )


def macros() -> list[dict[str, Any]]:
    """The macros in macros/_macros.yml, in the order of the file."""
    text = (MACROS / "_macros.yml").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = yaml.safe_load(text)["macros"]
    return found


def _macro(macro: Mapping[str, Any]) -> str:
    name, arguments = macro["name"].removeprefix(_TEST), macro.get("arguments", [])
    description = _with_code(macro["description"].removeprefix(_OPERATION).strip())
    described = ((each["name"], each["description"].strip()) for each in arguments)
    rows = [(f"`{argument}`", _with_code(text)) for argument, text in described if text not in _STATED]
    return "\n".join(
        [
            f"### {name}\n",
            f"```text\n{name}({_signature(name)})\n```\n",
            f"{description}\n",
            *(_table(("argument", "meaning"), rows) if rows else ()),
        ]
    )


def _with_code(text: str) -> str:
    """A description with names formatted as code."""
    return _NAME.sub(r"`\g<0>`", text)


def _signature(name: str) -> str:
    """The arguments of a macro with their defaults, from the macro's file."""
    (file,) = MACROS.rglob(f"{name}.sql")
    found = _SIGNATURE.search(file.read_text(encoding="utf-8"))
    return found["arguments"] if found else ""


def _configs(configs: type[Configs]) -> Iterator[str]:
    """The table of configs. The text that follows a config in its class is its meaning."""
    (body,) = (each.body for each in ast.parse(inspect.getsource(configs)).body if isinstance(each, ast.ClassDef))
    meanings = {
        ast.unparse(config.targets[0]): " ".join(ast.literal_eval(text.value).split())
        for config, text in pairwise(body)
        if isinstance(config, ast.Assign) and isinstance(text, ast.Expr)
    }
    rows = ((f"`{name}`", _values(config), meanings[name]) for name, config in configs.table().items())
    return _table(("config", "values", "meaning"), rows)


def _values(config: Config[Any]) -> str:
    """The values that a config accepts, with the default first."""
    if isinstance(config.default, bool):
        return "`true`, `false`" if config.default else "`false`, `true`"
    if config.kind.choices:
        return ", ".join(f"`{each}`" for each in config.kind.choices)
    expected = config.kind.expected.removeprefix("one of ").removesuffix(", or omit it for no limit")
    accepted = _VALUE.sub(lambda found: f"`{found[found.lastindex or 0]}`", expected)
    return accepted if accepted.startswith("`all`") else f"{_default(config.default)}; {accepted}"


def _default(value: object) -> str:
    if isinstance(value, timedelta):
        return f"`{value.days} days`"
    if isinstance(value, dict):
        return f"`{{{', '.join(f'{key.value}: {each.value}' for key, each in value.items())}}}`"
    return "none"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""
