"""Generates the index of errors, docs/errors.md: each error with its meaning, an example and further reading.

The package contains the same entries as text, for ``dbt-spark-iceberg explain``.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from types import ModuleType

from dbt.adapters.spark_iceberg.spark import outages
from dbt.adapters.spark_iceberg.spark.connect import errors as connect_errors
from iceberg_incremental.errors import IncrementalError
from iceberg_incremental.explain.window_errors import outside_window

from . import inline_errors
from .error_examples import BY_NAME, Made, example, makers, modules

_WIDTH = 90
_TITLES = {
    "source": "Sources",
    "target": "A model's table and its checkpoint",
    "race": "Concurrent runs and writers",
    "staging": "Staged commits",
    "model": "A model's SQL and configs",
    "column": "Columns of a model and its table",
    "sequence": "Late and out-of-order rows",
    "group": "Changed groups",
    "range": "Bounds of changed values",
    "history": "Histories",
    "window": "Event-time windows",
    "audit": "Audits",
    "logic": "Edited models",
    "result": "SQL that is correct only in the first run",
    "plain_sql": "Plain SQL with the strategy auto",
    "python": "Python models",
    "metadata": "Reading metadata",
    "operation": "Arguments of operations",
    "selection": "Names of models and sources",
    "ledger": "The ledger",
    "clone": "Clones",
    "clone_config": "Clone configs",
    "verification": "Verification",
    "verify": "Tables that cannot be compared with their rebuilds",
    "freshness": "Source freshness",
    "watch": "watch and pending",
    "page": "The status page",
    "job": "Jobs without dbt",
    "command": "The command iceberg-incremental",
    "java": "Java and the start of Spark",
}
"""The titles of the sections by module, in the order of the page. Other modules follow under their own names."""
_PARAMETERS = re.compile(r"[.;]\s+``\w+``(?::| reads).*", re.DOTALL)
"""The part of a docstring that describes the function's parameters."""
_LINK = re.compile(r"\[(?P<text>[^]]+)\]\((?P<file>[^)]+)\)")
_MORE = {
    "history-break": "[Breaks in a source's history](behavior.md#breaks-in-a-sources-history) lists the recoverable "
    "breaks.",
    "rewritten": "[Commits of a source](behavior.md#commits-of-a-source) describes each policy. "
    "[Patterns](patterns.md#which-pattern-for-a-source-that-is-merged-into) shows which one to choose.",
    "missing-checkpoint": "[Migration](migration.md#keep-the-table) shows how to take over a table.",
    "not-built-by": "[Migration](migration.md#keep-the-table) shows how to take over a table.",
    "lost-race": "[Concepts](concepts.md#the-fence) explains which of two runs publishes.",
    "target-moved": "[Concepts](concepts.md#the-fence) shows how rows are published.",
    "captured-later": "[The rules of the macros](reference.md#macros) explain this.",
    "no-capture": "[The rules of the macros](reference.md#macros) explain this.",
    "duplicate-keys": "With `sequence_by`, the newest row of each key is kept: "
    "[late and out-of-order rows](patterns.md#late-and-out-of-order-rows).",
    "key-taken": "[A. Process the changes](patterns.md#a-process-the-changes) lists the rules of mirrors.",
    "refused-settings": "[Settings of the Spark session](behavior.md#settings-of-the-spark-session) lists all settings "
    "that are refused.",
    "unchanged-groups": "[Whole groups](patterns.md#b-the-changes-as-a-filter-recompute-whole-groups) lists the rules.",
    "aggregated-changes": "[Aggregates of the changes alone](patterns.md#aggregates-of-the-changes-alone) lists the "
    "rules.",
    "ignored-sign": "[Sums that follow updates and deletes](patterns.md#sums-that-follow-updates-and-deletes) shows an "
    "example.",
    "unreachable": "[Catalogs](production.md#catalogs) lists the properties of each catalog.",
    "no-configuration": "[Catalogs](production.md#catalogs) lists the properties of each catalog.",
    "net-set-back": "[Backfills](patterns.md#backfills) shows other ways to process rows again.",
    "not-incremental": "[Plain SQL](plain-sql.md#supported-sql) lists what is supported.",
    "read-differently": "[Plain SQL](plain-sql.md#supported-sql) lists what is supported.",
    "tied": "[Late and out-of-order rows](patterns.md#late-and-out-of-order-rows) lists the rules.",
}
_FILES = {
    "profile/credentials.py": "The profile",
    "spark/checks.py": "Java, Spark, Iceberg and catalogs",
    "relations/catalogs.py": "catalogs.yml",
    "spark/python_models.py": "The code of Python models",
}
_ELSEWHERE = "Connections, seeds and other checks"

_HEAD = """# Errors

Most errors state what is wrong, what was expected, what was found, and how to fix it. When an error is raised, the run
has published neither rows nor a checkpoint. There are two exceptions:

- Some errors about [staged commits](#staged-commits), and errors in steps after the publication, such as `grants`, are
  raised when rows are already in the table. Their messages state which rows these are.
- If the connection or the [response to a commit](#services-and-disks) is lost, it is unknown whether the commit was
  completed. The next run continues from the last commit.

If an error has an entry on this page, its last line names the command that prints the entry, for example
`More: dbt-spark-iceberg explain lost-race`. The command needs no network. Without a name, it lists all entries.

This page is generated from the code. The messages on this page refer to a sample project about flights.
"""
_INLINE = """## Errors of the adapter

These errors are about the profile, connections, catalogs, Python models and seeds. Most of them are raised before a
model runs. In the messages, `‹name›` and `…` are placeholders.
"""
_STATEMENTS = """## While a statement runs

If a statement reads a row that causes one of these errors, the statement stops, and nothing is published.
"""
RAISED_BY_SQL = (
    "NULL in column ‹name›, which the model's contract declares not_null",
    "_change_type is ‹value›, expected INSERT, UPDATE_BEFORE, UPDATE_AFTER or DELETE",
    "event_time is a text column, whose values are not compared as times. Cast it to a date or a timestamp",
    "A new row has no _last_updated_sequence_number, so it cannot be distinguished from older rows",
)
"""Messages in generated SQL. A test checks that the code contains them."""
_OUTAGES = """## Services and disks

If a service or a disk fails, one of these texts follows Spark's own message:
"""


def page() -> str:
    """The page as Markdown. Raises KeyError for an error without an example."""
    return "\n".join([_HEAD, *_of_incremental_processing(), _INLINE, *_inline()]).rstrip() + "\n"


def shipped() -> str:
    """The entries that ``dbt-spark-iceberg explain`` prints, by name, as JSON."""
    made = [make for module in modules() for make in makers(module)]
    entries = {example(make).name: _plain(make) for make in made if example(make).name}
    return json.dumps(entries, indent=0, ensure_ascii=False) + "\n"


def _of_incremental_processing() -> Iterator[str]:
    known = {_stem(module): module for module in modules()}
    order = [stem for stem in _TITLES if stem in known] + [stem for stem in known if stem not in _TITLES]
    for stem in order:
        yield f"## {_TITLES.get(stem, stem.replace('_', ' ').capitalize())}\n"
        yield from (_entry(make) for make in makers(known[stem]) if example(make).name)


def _stem(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2].removesuffix("_errors")


def _entry(make: Made) -> str:
    error = example(make)
    entry = error.name
    more = f"\n{_MORE[entry]}\n" if entry in _MORE else ""
    return f"### {entry}\n\n{_meaning(make)} (`{type(error).__name__}`)\n\n{_block(_message(error))}{more}"


def _plain(make: Made) -> str:
    """An entry as plain text. Its links are written as paths of files."""
    error = example(make)
    entry = error.name
    shown = textwrap.indent("\n".join(_wrapped(_message(error))), "  ")
    parts = [f"{entry} ({type(error).__name__})", _meaning(make), f"Example:\n\n{shown}"]
    if entry in _MORE:
        parts.append(_LINK.sub(r"\g<text> (docs/\g<file>)", _MORE[entry]))
    return "\n\n".join(parts)


def _meaning(make: Made) -> str:
    return _PARAMETERS.sub(".", (make.__doc__ or "").strip()).replace("``", "`")


def _message(error: IncrementalError) -> str:
    """The message of an error without the last line, which names the entry."""
    return str(error.msg).rpartition("\n")[0]


def _inline() -> Iterator[str]:
    files = inline_errors.files()
    for file, title in _FILES.items():
        yield f"### {title}\n"
        yield from map(_block, inline_errors.texts(file))
    yield f"### {_ELSEWHERE}\n"
    texts = (text for file in files if file not in _FILES for text in inline_errors.texts(file))
    yield from map(_block, dict.fromkeys(texts))
    yield "### Spark Connect\n"
    yield _block(connect_errors.unreachable("‹host›:‹port›", False, "‹error›"))
    yield _block(connect_errors.refused("‹error›"))
    yield _block(connect_errors.lost("‹error›"))
    yield _STATEMENTS
    yield from map(_block, [*RAISED_BY_SQL, outside_window(BY_NAME["window"], "flight_day")])
    yield _OUTAGES
    yield from (_block(text) for text in vars(outages).values() if isinstance(text, str) and "To fix" in text[1:])


def _block(message: str) -> str:
    return "\n".join(("```text", *_wrapped(message), "```\n"))


def _wrapped(message: str) -> Iterator[str]:
    """The lines of a message. Long lines are wrapped and indented."""
    for line in message.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        following = indent + ("   " if line.lstrip()[:2] in {f"{n}." for n in range(1, 10)} else "  " if indent else "")
        yield from textwrap.wrap(
            line, _WIDTH, subsequent_indent=following, break_long_words=False, break_on_hyphens=False
        ) or [""]
