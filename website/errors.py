"""Generates docs/errors.md, the index of errors, a page for each error in docs/errors/, and the entries of ``explain``.

The package contains the entries as text, for ``dbt-spark-iceberg explain``. They have the whole messages.
"""

from __future__ import annotations

import json
import re
import textwrap

from iceberg_incremental.errors import message

from .error_examples import Made, example, makers, modules

_WIDTH = 90
_REFERRING = ("choose another column.", "correct it.", "correct the name.", "remove them.")
"""The fixes that refer to what was expected."""
_PARAMETERS = re.compile(r"[.;]\s+``\w+``(?::| reads).*", re.DOTALL)
"""The part of a docstring that describes the function's parameters."""
_LINK = re.compile(r"\[(?P<text>[^]]+)\]\((?P<file>[^)]+)\)")
_MORE = {
    "history-break": "[Breaks in a source's history](guarantees.md#breaks-in-a-sources-history) lists the recoverable "
    "breaks.",
    "rewritten": "[Commits of a source](guarantees.md#commits-of-a-source) describes each policy. "
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
    "refused-settings": "[Settings of the Spark session](limits.md#settings-of-the-spark-session) lists all settings "
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
    "tied": "[Late and out-of-order rows](patterns.md#late-and-out-of-order-rows) lists the rules.",
}
"""Links to other pages in docs/, by the name of the error."""
_HEAD = """# Errors

When an error is raised, the run has published neither rows nor a checkpoint, with two exceptions:

- Errors about staged commits, and errors in steps after the publication, such as `grants`, state which rows are
  already in the table.
- If the connection or the catalog's response to a commit is lost, it is unknown whether the commit was completed. The
  next run continues from the last commit.

The last line of a message names the error, for example `More: dbt-spark-iceberg explain lost-race`. This command prints
the meaning of the error and an example, without network access. The pages of this index show how to fix each error, in
a sample project about flights.
"""
MADE: dict[str, Made] = {
    error.name: make for module in modules() for make in makers(module) if (error := example(make)).name
}
"""The functions that create the errors with an entry, by the entry's name."""


def index() -> str:
    """The index as Markdown: each error with its meaning and a link to its page."""
    return _HEAD + "\n" + "".join(f"- [{name}](errors/{name}.md): {_meaning(MADE[name])}\n" for name in sorted(MADE))


def page(name: str) -> str:
    """The page of an error as Markdown: an example, and links.

    The example has no line with what was found, and none with what was expected unless the fix refers to it.
    """
    error = example(MADE[name])
    expected = error.expected if error.fix in _REFERRING else ""
    shown = _wrapped(message(error.what, expected=expected, state=error.state, fix=error.fix))
    more = f"\n{_MORE[name].replace('](', '](../')}\n" if name in _MORE else ""
    return f"# {name}\n\n{textwrap.indent(shown, '    ')}\n{more}"


def shipped() -> str:
    """The entries that ``dbt-spark-iceberg explain`` prints, by name, as JSON."""
    return json.dumps({name: _plain(name) for name in MADE}, indent=0, ensure_ascii=False) + "\n"


def _plain(name: str) -> str:
    """An entry as plain text. Its links are written as paths of files."""
    error = example(MADE[name])
    shown = textwrap.indent(_wrapped(error.msg.rpartition("\n")[0]), "  ")
    parts = [f"{name} ({type(error).__name__})", _meaning(MADE[name]), f"Example:\n\n{shown}"]
    if name in _MORE:
        parts.append(_LINK.sub(r"\g<text> (docs/\g<file>)", _MORE[name]))
    return "\n\n".join(parts)


def _meaning(make: Made) -> str:
    return _PARAMETERS.sub(".", (make.__doc__ or "").strip()).replace("``", "`")


def _wrapped(text: str) -> str:
    """A message whose long lines are wrapped and indented."""
    return "\n".join(each for line in text.splitlines() for each in _lines(line))


def _lines(line: str) -> list[str]:
    indent = line[: len(line) - len(line.lstrip())]
    following = indent + ("   " if line.lstrip()[:2] in {f"{n}." for n in range(1, 10)} else "  " if indent else "")
    return textwrap.wrap(line, _WIDTH, subsequent_indent=following, break_long_words=False, break_on_hyphens=False) or [
        ""
    ]
