"""The plans of several aggregates of distinct values, in an order that does not depend on Spark's hashes.

Spark's rule ``RewriteDistinctAggregates``, which cannot be switched off, expands each row to one row for each group of
distinct columns. It numbers the groups, and orders their columns, by hashes that differ from query to query.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

EXPAND = re.compile(r"Expand \[\[(.*)\]\], \[(.*)\]$")
"""The node for several aggregates of distinct values. Its groups: the expanded rows, and the columns."""
_GROUP = re.compile(r"gid#\d+")
_NUMBER = re.compile(r"#\d+L?")
_NULL = "null"


def pieces(listed: str) -> list[str]:
    """The parts of a list between the commas that are not in parentheses."""
    found: list[str] = []
    for each in listed.split(", "):
        if found and found[-1].count("(") > found[-1].count(")"):
            found[-1] += f", {each}"
        else:
            found.append(each)
    return found


def with_ordered_groups(plan: str) -> str:
    """A plan in which groups of distinct columns are numbered and ordered by their expressions."""
    lines = plan.splitlines()
    for at, line in enumerate(lines):
        expand = EXPAND.search(line)
        if expand is not None:
            rows, columns = [pieces(each) for each in expand[1].split("], [")], pieces(expand[2])
            groups = [place for place, column in enumerate(columns) if _GROUP.fullmatch(column)]
            numbers = {row[groups[0]] for row in rows if len(row) == len(columns)} if len(groups) == 1 else set()
            if len(numbers) == len(rows) and all(map(str.isdigit, numbers)):
                places = {
                    number: place for place, number in enumerate(dict.fromkeys(_NUMBER.findall(below(lines, at))))
                }
                lines[: at + 1] = _ordered(lines[: at + 1], expand.start(), rows, columns, groups[0], places)
    return "\n".join(lines)


def below(lines: Sequence[str], at: int) -> str:
    """The part of a plan below a line."""
    return "\n".join(lines[at + 1 :])


def _ordered(
    lines: Sequence[str],
    start: int,
    rows: Sequence[list[str]],
    columns: Sequence[str],
    group: int,
    defined: Mapping[str, int],
) -> list[str]:
    """The lines of a plan down to an Expand, which starts at ``start``. ``group``: the place of the column ``gid``.

    ``defined``: the order in which the plan below defines its columns, by Spark's number.
    """

    def shown_alike(value: str) -> str:
        return _NUMBER.sub(lambda found: f"#{defined.get(found[0], '')}", value).lower()

    places = [place for place in range(group) if any(row[place] == _NULL for row in rows)]
    shown = {
        place: min((shown_alike(row[place]) for row in rows if row[place] != _NULL), default="") for place in places
    }
    order = list(range(len(columns)))
    for place, column in zip(places, sorted(places, key=shown.__getitem__), strict=True):
        order[place] = column
    ordered = sorted(rows, key=lambda row: sorted(shown[place] for place in places if row[place] != _NULL))
    numbers = sorted(row[group] for row in rows)
    new = {row[group]: number for row, number in zip(ordered, numbers, strict=True)}

    def listed(values: Sequence[str]) -> str:
        return ", ".join(values[place] for place in order)

    written = "], [".join(listed([*row[:group], new[row[group]], *row[group + 1 :]]) for row in ordered)
    before, after = (", ".join(columns[place] for place in each) for each in (places, [order[at] for at in places]))
    compared = re.compile(rf"(?<={re.escape(columns[group])} = )\d+")
    above = [compared.sub(lambda match: new.get(match[0], match[0]), line) for line in lines[:-1]]
    above = [line.replace(f", {before}, ", f", {after}, ").replace(f"[{before}, ", f"[{after}, ") for line in above]
    return [*above, f"{lines[-1][:start]}Expand [[{written}]], [{listed(columns)}]"]
