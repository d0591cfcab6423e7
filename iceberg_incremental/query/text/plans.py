"""Whether Spark interprets two texts as the same query, according to its plans.

sqlglot's interpretation of a query must be that of Spark. EXPLAIN shows a plan with Spark's numbers for columns. Two
queries have the same meaning if their plans differ only in these numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...names import sql_name

SETTINGS = {
    "spark.sql.debug.maxToStringFields": "100000",
    "spark.sql.maxPlanStringLength": "100000000",
    "spark.sql.iceberg.aggregate-push-down.enabled": "false",
    "spark.sql.optimizer.collapseProjectAlwaysInline": "true",
    "spark.sql.optimizer.disableHints": "true",
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation",
}
"""Settings with which Spark shows complete plans, combines two projections, and ignores hints.

Spark would otherwise compute expressions over VALUES, and not show them.
"""

_TYPES = re.compile(r"== Analyzed Logical Plan ==\n(.*)")
_SECTION = re.compile(r"== Optimized Logical Plan ==\n(.*?)\n(?:\n== |\Z)", re.DOTALL)
_PUSHED = re.compile(r"BatchScan ([^\[]+)\[.*?\bfilters=(.*?), (?:runtimeFilters|groupedBy)=")
_DEPTH = re.compile(r"(?:[: ] {2})*(?:[+:]- )?")
_LEAF = re.compile(r"(?:LocalRelation|LogicalRDD|Relation\w*)\b[^\[]*\[(.*)\]")
_GENERATED = re.compile(r"(Generate .*?)(?:, \[[\d, ]*\])?(, (?:true|false))(?:, [^\[\]]*?)?, \[([^\[\]]*)\]$")
_FIELD = re.compile(r"(?<=#)\d+(?:\.\w+)+")
_TUPLES = re.compile(r"\(named_struct\([^()]*\) (?:=|<=>|<|>|<=|>=) named_struct\([^()]*\)\)")
_NAMED = re.compile(r"(?<=[( ])\w[\w ]*(?=, #\d+[,)])")
_VARIABLES = re.compile(r"((?:, lambda #\d+)+), (?:true|false)\)$")
_LEVEL = re.compile(r"#\((\d+)")
_DEFINED = re.compile(r" AS ([^#\n]+)#(\d+)")
_COLUMN = re.compile(r"#(\d+)L?")
_OUTPUT = re.compile(r"(?:[: ] {2})*(?:[+:]- )?(?:Project|Aggregate \[.*?\],) \[")
_PASSED_ON = re.compile(r"(?<=[\[ ])#(\d+)(?: AS #(\d+))?(?=, |\]$)")
_LISTED = re.compile(r"(.*)#(\d+)L?")
_SYNONYMS = {"substr(": "substring(", "position(": "locate("}
"""Names of functions that sqlglot replaces, and that Spark shows as they are written."""
_LAMBDA = "lambdafunction("
_PROJECT = "Project ["
_COLUMNS_ONLY = re.compile(r"Project \[#\d+(, #\d+)*\]")


def numbered(query: str, columns: Sequence[str]) -> str:
    """A query with numbers as column names, whose case matters in a plan. ``columns``: the names to replace."""
    listed = ", ".join(f"{sql_name(name)} as `ip_{number}`" for number, name in enumerate(columns))
    return f"select {listed} from (\n{query}\n)"


_ANALYZED = re.compile(r"== Analyzed Logical Plan ==\n(.*?)\n(?:== |\Z)", re.DOTALL)
_RELATION = re.compile(
    r"\b(?:RelationV2|HiveTableRelation|LogicalRDD|LogicalRelation|InMemoryRelation) ?\[|\bRelation [^\[\n]*\["
    r"|^[ :+-]*(?:Sample|View) |variablereference\(",
    re.MULTILINE,
)
"""Relations, samples and views in a plan, and session variables, none of which is among the relations of a query."""


def reads_relations(explained: str) -> bool:
    """Whether the plan in the output of EXPLAIN EXTENDED reads anything but its own values. True without a plan."""
    found = _ANALYZED.search(explained)
    return found is None or _RELATION.search(found[1]) is not None


def explain_sql(query: str) -> str:
    """The statement that shows the plans of a query."""
    return f"explain extended {query}"


def canonical(explained: str, *, case_sensitive: bool = False) -> str | None:
    """The optimized plan in the output of EXPLAIN EXTENDED, with columns numbered in order of occurrence.

    Only columns of tables and fields keep their names. Filters that Iceberg evaluates are only in the physical plan. A
    plan shows no types of literals. The types of the result are only in the analyzed plan.
    ``case_sensitive``: whether Spark distinguishes the case of fields. None if there is no plan, for example because
    Spark has rejected the query.
    """
    found = _SECTION.search(explained)
    if found is None:
        return None
    nodes = _tree(with_ordered_groups(_with_one_name(found.group(1))))
    numbers: dict[str, int] = {}

    def counted(match: re.Match[str]) -> str:
        return f"#{numbers.setdefault(match.group(1), len(numbers))}"

    texts = [_comparable(node.text, case_sensitive) for node in nodes]
    lines = [_COLUMN.sub(counted, f"{' ' * node.depth}{text}") for node, text in zip(nodes, texts, strict=True)]
    pushed = sorted(f"{table}: {filters}" for table, filters in _PUSHED.findall(explained))
    return "\n".join([*_TYPES.findall(explained), *lines, *pushed])


def _with_one_name(plan: str) -> str:
    """A plan with one name for each function that has several."""
    for name, other in _SYNONYMS.items():
        plan = re.sub(rf"\b{re.escape(name)}", other, plan)
    return plan


def _comparable(text: str, case_sensitive: bool) -> str:
    """The text of a node without the parts in which equal expressions may differ.

    These parts are the case of fields, the names in compared tuples, and shared variables of lambdas. They differ if
    Spark copies an expression, or if it is written twice.
    """
    if not case_sensitive:
        text = _FIELD.sub(lambda match: match[0].lower(), text)
    text = _TUPLES.sub(lambda match: _NAMED.sub("_", match[0]), text)
    start = text.rfind(_LAMBDA)
    while start >= 0:  # from the inside out
        text = text[:start] + _with_levels(text[start:])
        start = text.rfind(_LAMBDA, 0, start)
    return text


def _with_levels(text: str) -> str:
    """A text that starts with a lambda, with its variables numbered by nesting level and order."""
    end = _end(text, len(_LAMBDA))
    function = text[: end + 1]
    variables = _VARIABLES.search(function)
    if variables is None:
        return text
    level = 1 + max(map(int, _LEVEL.findall(function)), default=0)
    for place, number in enumerate(_COLUMN.findall(variables[1])):
        function = re.sub(rf"#{number}(?!\d)", f"#({level}.{place})", function)
    return function + text[end + 1 :]


def _end(text: str, start: int) -> int:
    """The position of the closing parenthesis for a position in a text, or the text's length without one."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if not depth:
            return place
    return len(text)


@dataclass
class _Node:
    depth: int
    text: str


def _tree(plan: str) -> list[_Node]:
    """The nodes of a plan, without nodes that only select columns if neither the selection nor its order matters."""
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
        text = text if counts else _without_copies(text)
        node = _Node(0 if parent is None else parent.depth + (2 if is_subquery else 1), text)
        if not counts and parent is not None and _COLUMNS_ONLY.fullmatch(text):
            node = parent
        else:
            nodes.append(node)
        above.append((depth, node))
    return nodes


def _without_copies(text: str) -> str:
    """A projection that passes each column only once."""
    if not text.startswith(_PROJECT):
        return text
    listed = pieces(text[len(_PROJECT) : -1])
    kept = [each for at, each in enumerate(listed) if not re.fullmatch(r"#\d+", each) or each not in listed[:at]]
    return f"{_PROJECT}{', '.join(kept)}]"


def _passes_all_on(lines: Sequence[str]) -> bool:
    """Whether the first node of a plan returns the columns of a relation in the relation's order."""
    below = 1
    while below < len(lines) and lines[below].startswith("Filter", _depth(lines[below])) and _follows(lines, below):
        below += 1
    leaf = _LEAF.search(lines[below]) if below < len(lines) and _follows(lines, below) else None
    return leaf is not None and re.findall(r" = #(\d+)(?=,|$)", leaf[1]) == _COLUMN.findall(lines[0])


def _follows(lines: Sequence[str], place: int) -> bool:
    """Whether a node is the only child of the node before it."""
    return _depth(lines[place]) == _depth(lines[place - 1]) + 3 and lines[place][_depth(lines[place]) - 3] == "+"


def _without_renaming(lines: Sequence[str]) -> list[str]:
    """A plan in which a column that a node only renumbers has the same number below and above the node.

    Only this node reads the part of the plan below it. The new number can therefore replace the old number there,
    unless it is used for another column.
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
    """A plan without the names of columns, except those of tables."""
    names = {(_own_name(text), number) for text, number in _DEFINED.findall(plan)}
    lines = []
    for line in plan.splitlines():
        text = line.replace("Join Cross", "Join Inner")  # these are equivalent
        generated, leaf, expanded = _GENERATED.search(text), _LEAF.search(text), EXPAND.search(text)
        if expanded is not None:
            names |= {(each[1], each[2]) for each in map(_LISTED.fullmatch, pieces(expanded[2])) if each is not None}
        if generated is not None:
            names |= set(_columns(generated[3]) or ())
            text = f"{text[: generated.start()]}{generated[1]}{generated[2]}, [{generated[3]}]"
        elif leaf is not None and (columns := _columns(leaf[1])) is not None:
            names |= set(columns)
            # the names in a relation without a table may show how an expression is written
            is_local = leaf[0].startswith("LocalRelation")
            shown = [("" if is_local else name.lower(), f"{name}#{number}") for name, number in columns]
            listed = ", ".join(f"{name} = {column}" for name, column in shown)
            text = f"{text[: leaf.start(1)]}{listed}{text[leaf.end(1) :]}"
        lines.append(text)
    return _replaced("\n".join(lines), sorted(names, key=lambda each: -len(each[0])))


def _own_name(text: str) -> str:
    """The name at the end of a definition. The name may itself contain AS, as in ``CAST(1 AS INT)``."""
    pieces = text.split(" AS ")
    candidates = (" AS ".join(pieces[start:]) for start in range(len(pieces) - 1, -1, -1))
    return next((each for each in candidates if each.count("(") == each.count(")")), pieces[-1])


def _columns(listed: str) -> list[tuple[str, str]] | None:
    """The names and numbers of listed columns. None for other text, for example if a name contains a comma."""
    found = [_LISTED.fullmatch(each) for each in listed.split(", ")]
    return None if None in found else [(each[1], each[2]) for each in found if each is not None]


def _replaced(text: str, names: Sequence[tuple[str, str]]) -> str:
    for name, number in names:
        text = re.sub(rf"{re.escape(name)}#{number}(?!\d)", f"#{number}", text, flags=re.IGNORECASE)
    return re.sub(r"(?:[A-Za-z_][\w.$]*|`[^`]*`)#(?=\d)", "#", text)  # parts with different names elsewhere in the plan


# The plans of several aggregates of distinct values, in an order that does not depend on Spark's hashes. Its rule
# RewriteDistinctAggregates, which cannot be switched off, expands each row to one row for each group of distinct
# columns. It numbers the groups, and orders their columns, by hashes that differ from query to query.

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
