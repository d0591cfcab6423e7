"""Whether Spark reads two texts as the same query, by its plans.

What sqlglot makes of a query, with names resolved, must be what Spark makes of it. EXPLAIN shows a plan with the
numbers that Spark gives to columns. Two queries are read alike if their plans are the same with other numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SETTINGS = {
    "spark.sql.debug.maxToStringFields": "100000",
    "spark.sql.maxPlanStringLength": "100000000",
    "spark.sql.iceberg.aggregate-push-down.enabled": "false",
    "spark.sql.optimizer.collapseProjectAlwaysInline": "true",
}
"""Settings under which Spark shows plans in full, and makes one of two projections."""

_SECTION = re.compile(r"== Optimized Logical Plan ==\n(.*?)\n(?:\n== |\Z)", re.DOTALL)
_PUSHED = re.compile(r"BatchScan ([^\[]+)\[.*?\bfilters=(.*?), (?:runtimeFilters|groupedBy)=")
_DEPTH = re.compile(r"(?:[: ] {2})*(?:[+:]- )?")
_LEAF = re.compile(r"(?:LocalRelation|LogicalRDD|Relation\w*)\b[^\[]*\[(.*)\]")
_GENERATED = re.compile(r"(Generate .*?)(?:, \[[\d, ]*\])?(, (?:true|false))(?:, [^\[\]]*?)?, \[([^\[\]]*)\]$")
_FIELD = re.compile(r"(?<=#)\d+(?:\.\w+)+")
_TUPLES = re.compile(r"\(named_struct\([^()]*\) (?:=|<=>|<|>|<=|>=) named_struct\([^()]*\)\)")
_NAMED = re.compile(r"(?<=[( ])\w[\w ]*(?=, #\d+[,)])")
_DEFINED = re.compile(r" AS ((?:(?! AS )[^#\n])+)#(\d+)")
_COLUMN = re.compile(r"#(\d+)L?")
_OUTPUT = re.compile(r"(?:[: ] {2})*(?:[+:]- )?(?:Project|Aggregate \[.*?\],) \[")
_PASSED_ON = re.compile(r"(?<=[\[ ])#(\d+)(?: AS #(\d+))?(?=, |\]$)")
_LISTED = re.compile(r"(.*)#(\d+)L?")
_COLUMNS_ONLY = re.compile(r"Project \[#\d+(, #\d+)*\]")


def numbered(query: str, columns: Sequence[str]) -> str:
    """A query with numbers for the names of its columns, in which case matters to a plan. ``columns``: these names."""
    listed = ", ".join(f"`{name.replace('`', '``')}` as `ip_{number}`" for number, name in enumerate(columns))
    return f"select {listed} from (\n{query}\n)"


def explain_sql(query: str) -> str:
    """The statement that shows the plans of a query."""
    return f"explain extended {query}"


def canonical(explained: str, *, case_sensitive: bool = False) -> str | None:
    """The optimized plan in a text of EXPLAIN EXTENDED, its columns numbered in the order of their mention.

    Names are kept for columns of tables and for fields alone. Filters that Iceberg evaluates by itself are in the
    physical plan only. ``case_sensitive``: whether Spark tells fields apart by the case of their names.
    None where there is no plan, as where Spark has refused the query.
    """
    found = _SECTION.search(explained)
    if found is None:
        return None
    nodes = _tree(found.group(1))
    numbers: dict[str, int] = {}

    def counted(match: re.Match[str]) -> str:
        return f"#{numbers.setdefault(match.group(1), len(numbers))}"

    texts = [node.text if case_sensitive else _in_one_case(node.text) for node in nodes]
    lines = [_COLUMN.sub(counted, f"{' ' * node.depth}{text}") for node, text in zip(nodes, texts, strict=True)]
    return "\n".join([*lines, *sorted(f"{table}: {filters}" for table, filters in _PUSHED.findall(explained))])


def _in_one_case(text: str) -> str:
    """A node with the fields that it reads, and the names in the tuples that it compares, in lower case."""
    text = _FIELD.sub(lambda match: match[0].lower(), text)
    return _TUPLES.sub(lambda match: _NAMED.sub(lambda each: each[0].lower(), match[0]), text)


@dataclass
class _Node:
    depth: int
    text: str


def _tree(plan: str) -> list[_Node]:
    """The nodes of a plan without those that only choose columns, where neither their choice nor their order counts."""
    lines = _without_renaming(_without_names(plan).splitlines())
    above: list[tuple[int, _Node]] = []
    nodes = []
    for place, line in enumerate(lines):
        indent = _depth(line)
        depth, text = indent // 3, line[indent:]
        while above and above[-1][0] >= depth:
            above.pop()
        parent = above[-1][1] if above else None
        is_subquery = bool(above) and above[-1][0] < depth - 1
        counts = parent is None or is_subquery or parent.text.startswith("Union")
        counts = counts and not _passes_all_on(lines[place:])
        node = _Node(0 if parent is None else parent.depth + (2 if is_subquery else 1), text)
        if not counts and parent is not None and _COLUMNS_ONLY.fullmatch(text):
            node = parent
        else:
            nodes.append(node)
        above.append((depth, node))
    return nodes


def _passes_all_on(lines: Sequence[str]) -> bool:
    """Whether the first node of a plan gives the columns of a relation in the relation's own order."""
    below = 1
    while below < len(lines) and lines[below].startswith("Filter", _depth(lines[below])) and _follows(lines, below):
        below += 1
    leaf = _LEAF.search(lines[below]) if below < len(lines) and _follows(lines, below) else None
    return leaf is not None and re.findall(r" = #(\d+)(?=,|$)", leaf[1]) == _COLUMN.findall(lines[0])


def _follows(lines: Sequence[str], place: int) -> bool:
    """Whether a node is the only one right below the node before it."""
    return _depth(lines[place]) == _depth(lines[place - 1]) + 3 and lines[place][_depth(lines[place]) - 3] == "+"


def _without_renaming(lines: Sequence[str]) -> list[str]:
    """A plan in which a column has one number below and above a node that only gives it another one.

    Nothing else sees what is below that node. So the new number can stand for the old one there, if it stands for
    nothing else.
    """
    found = [_COLUMN.sub(r"#\1", line) for line in lines]
    for at, line in enumerate(found):
        output = _OUTPUT.match(line)
        if output is None:
            continue
        passed_on = _PASSED_ON.findall(line, output.end() - 1)
        times = Counter(old for old, _ in passed_on)
        end = at + 1
        while end < len(found) and _depth(found[end]) > _depth(line):
            end += 1
        known = Counter(number for each in found[at:end] for number in _COLUMN.findall(each))
        new = {old: number for old, number in passed_on if number and times[old] == 1 and known[number] == 1}
        for old, number in new.items():
            found[at] = re.sub(rf"(?<=[\[ ])#{old} AS #{number}(?=, |\]$)", f"#{number}", found[at])
        found[at:end] = [_with_numbers(each, new) for each in found[at:end]]
    return found


def _with_numbers(line: str, new: Mapping[str, str]) -> str:
    return _COLUMN.sub(lambda match: f"#{new.get(match[1], match[1])}", line)


def _depth(line: str) -> int:
    return len(_DEPTH.match(line)[0])  # type: ignore[index] # it matches any text


def _without_names(plan: str) -> str:
    """A plan without the names of columns, but for those of tables."""
    names = set(_DEFINED.findall(plan))
    lines = []
    for line in plan.splitlines():
        text = line.replace("Join Cross", "Join Inner")  # which are the same
        generated, leaf = _GENERATED.search(text), _LEAF.search(text)
        if generated is not None:
            names |= set(_columns(generated[3]) or ())
            text = f"{text[: generated.start()]}{generated[1]}{generated[2]}, [{generated[3]}]"
        elif leaf is not None and (columns := _columns(leaf[1])) is not None:
            names |= set(columns)
            listed = ", ".join(f"{name.lower()} = {name}#{number}" for name, number in columns)
            text = f"{text[: leaf.start(1)]}{listed}{text[leaf.end(1) :]}"
        lines.append(text)
    return _replaced("\n".join(lines), sorted(names, key=lambda each: -len(each[0])))


def _columns(listed: str) -> list[tuple[str, str]] | None:
    """The names and numbers of listed columns; None for another text, as where a name has a comma in it."""
    found = [_LISTED.fullmatch(each) for each in listed.split(", ")]
    return None if None in found else [(each[1], each[2]) for each in found if each is not None]


def _replaced(text: str, names: Sequence[tuple[str, str]]) -> str:
    for name, number in names:
        text = re.sub(rf"{re.escape(name)}#{number}(?!\d)", f"#{number}", text, flags=re.IGNORECASE)
    return re.sub(r"(?:[A-Za-z_][\w.$]*|`[^`]*`)#(?=\d)", "#", text)  # what has other names elsewhere
