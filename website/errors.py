"""The index of errors, docs/errors.md: each error as a user reads it, with what it means and where to read on.

The package ships the entries as text, for ``dbt-spark-iceberg explain``.
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
from iceberg_incremental.explain.entries import entry_of
from iceberg_incremental.explain.window_errors import outside_window

from . import inline_errors
from .error_examples import BY_NAME, Made, example, makers, modules

_WIDTH = 90
_TITLES = {
    "source": "Sources",
    "target": "A model's table and its checkpoint",
    "race": "Runs that were overtaken",
    "staging": "Commits that are not where they were staged",
    "model": "A model's SQL and configs",
    "column": "Columns of a model and its table",
    "sequence": "Late and out-of-order rows",
    "window": "Windows of event time",
    "logic": "Edited models",
    "result": "SQL that is right in the first run only",
    "plain_sql": "Plain SQL that is kept up to date",
    "python": "Models in Python",
    "metadata": "Reading metadata",
    "operation": "Arguments of operations",
    "selection": "Names of models and sources",
    "ledger": "The ledger",
    "maintenance": "Maintenance",
    "clone": "Clones",
    "clone_config": "Configs of clones",
    "verification": "Verifying tables",
    "verify": "Tables that cannot be compared with their rebuilds",
    "freshness": "Source freshness",
    "watch": "watch and pending",
    "page": "The status page",
    "job": "Jobs without dbt",
    "command": "The command iceberg-incremental",
}
"""The sections, in their order; a module that is not listed follows under its own name."""
_PARAMETERS = re.compile(r"[.;]\s+``\w+``(?::| reads).*", re.DOTALL)
"""Where a docstring begins to speak of the function's parameters."""
_LINK = re.compile(r"\[(?P<text>[^]]+)\]\((?P<file>[^)]+)\)")
_MORE = {
    "history-break": "[Breaks in a source's history](guarantees.md#breaks-in-a-sources-history): what is recovered.",
    "rewritten": "[Commits of a source](guarantees.md#commits-of-a-source) says what each policy does; "
    "[patterns](patterns.md#which-pattern-for-a-source-that-is-merged-into) which one to choose.",
    "missing-checkpoint": "[Migration](migration.md#keep-the-table) shows how to take over a table.",
    "not-built-by": "[Migration](migration.md#keep-the-table) shows how to take over a table.",
    "lost-race": "[Concepts](concepts.md#the-fence) shows how one of two runs wins.",
    "target-moved": "[Concepts](concepts.md#the-fence) shows how rows are published.",
    "captured-later": "[The rules of the macros](reference.md#macros) say why.",
    "no-capture": "[The rules of the macros](reference.md#macros) say why.",
    "duplicate-keys": "[Late and out-of-order rows](patterns.md#late-and-out-of-order-rows): "
    "`sequence_by` takes the newest.",
    "key-taken": "[A. Process the changes](patterns.md#a-process-the-changes) has the rules of mirrors.",
    "refused-settings": "[Settings of the Spark session](guarantees.md#settings-of-the-spark-session) lists them all.",
    "unchanged-groups": "[Whole groups](patterns.md#b-the-changes-as-a-filter-recompute-whole-groups) has the rules.",
    "aggregated-changes": "[Aggregates of the changes alone](patterns.md#aggregates-of-the-changes-alone): the rules.",
    "ignored-sign": "[Sums that follow updates and deletes](patterns.md#a-process-the-changes) has an example.",
    "unreachable": "[Catalogs](production.md#catalogs) has the properties of each.",
    "no-configuration": "[Catalogs](production.md#catalogs) has the properties of each.",
    "net-set-back": "[Backfills](patterns.md#backfills) has the other ways.",
    "not-incremental": "[Plain SQL](plain-sql.md#supported-sql) lists what is supported.",
    "read-differently": "[Plain SQL](plain-sql.md#supported-sql) lists what is supported.",
    "tied": "[Late and out-of-order rows](patterns.md#late-and-out-of-order-rows) has the rules.",
}
_FILES = {
    "profile/credentials.py": "The profile",
    "spark/checks.py": "Java, Spark, Iceberg and catalogs",
    "relations/catalogs.py": "catalogs.yml",
    "spark/python_models.py": "The code of models in Python",
}
_ELSEWHERE = "Connections, seeds and the rest"

_HEAD = """# Errors

Every error says what was expected, what was found, and what to do. When one is raised, the run has committed no rows
and no checkpoint of its own; the few errors that concern rows in the table say so
([commits that are not where they were staged](#commits-that-are-not-where-they-were-staged)). The last line of a
message of a run names the command that prints its entry: `More: dbt-spark-iceberg explain lost-race`. The command needs
no network; without a name it lists all entries. This page has the same entries.

`make reference` writes this page from the code. The examples are what the code prints, with names of a project on
flights.
"""
_INLINE = """## Before a model runs

Profile, connection and catalogs are checked before a model runs. What varies in a message stands in ‹›.
"""
_STATEMENTS = """## While a statement runs

These stop the statement that comes upon the row, and nothing is published.
"""
RAISED_BY_SQL = (
    "NULL in column ‹name›, which the model's contract declares not_null",
    "_change_type is ‹value›, expected INSERT, UPDATE_BEFORE, UPDATE_AFTER or DELETE",
    "event_time is a column of text, which does not compare as a time: cast it to a date or a timestamp",
    "A row that was just inserted has no _last_updated_sequence_number, which identifies the older rows",
)
"""Messages that stand within SQL; a test finds them in the code."""
_OUTAGES = """## Services and disks

Where a service or a disk has failed, Spark's own message is followed by one of these:
"""


def page() -> str:
    """The page as Markdown. Raises KeyError for an error without an example."""
    return "\n".join([_HEAD, *_of_incremental_processing(), _INLINE, *_inline()]).rstrip() + "\n"


def shipped() -> str:
    """The entries by name as JSON: what ``dbt-spark-iceberg explain`` prints."""
    made = [make for module in modules() for make in makers(module)]
    return json.dumps({entry_of(make.__name__): _plain(make) for make in made}, indent=0, ensure_ascii=False) + "\n"


def _of_incremental_processing() -> Iterator[str]:
    known = {_stem(module): module for module in modules()}
    order = [stem for stem in _TITLES if stem in known] + [stem for stem in known if stem not in _TITLES]
    for stem in order:
        yield f"## {_TITLES.get(stem, stem.replace('_', ' ').capitalize())}\n"
        yield from map(_entry, makers(known[stem]))


def _stem(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2].removesuffix("_errors")


def _entry(make: Made) -> str:
    entry, error = entry_of(make.__name__), example(make)
    more = f"\n{_MORE[entry]}\n" if entry in _MORE else ""
    return f"### {entry}\n\n{_meaning(make)} (`{type(error).__name__}`)\n\n{_block(_message(error))}{more}"


def _plain(make: Made) -> str:
    """An entry for a terminal: an example in place of a block of code, and links by the file that they lead to."""
    entry, error = entry_of(make.__name__), example(make)
    shown = textwrap.indent("\n".join(_wrapped(_message(error))), "  ")
    parts = [f"{entry} ({type(error).__name__})", _meaning(make), f"Example:\n\n{shown}"]
    if entry in _MORE:
        parts.append(_LINK.sub(r"\g<text> (docs/\g<file>)", _MORE[entry]))
    return "\n\n".join(parts)


def _meaning(make: Made) -> str:
    return _PARAMETERS.sub(".", (make.__doc__ or "").strip()).replace("``", "`")


def _message(error: IncrementalError) -> str:
    """A message without the line that names its entry."""
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
    """The lines of a message, the long ones broken, with the indent of their first line."""
    for line in message.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        following = indent + ("   " if line.lstrip()[:2] in {f"{n}." for n in range(1, 10)} else "  " if indent else "")
        yield from textwrap.wrap(
            line, _WIDTH, subsequent_indent=following, break_long_words=False, break_on_hyphens=False
        ) or [""]
