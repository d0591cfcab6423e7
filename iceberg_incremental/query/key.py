"""The columns by which rows of a query's result are replaced.

Any columns would give the right result. Those that many rows share cost rows that are replaced in vain, and those that
few of the query's relations determine are found faster.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlglot import exp

from ..table.types import Trait, traits
from .algebra import nodes as op
from .algebra.flow import level_nodes
from .algebra.look_back import order_of_rows, partitions
from .algebra.tree import Tree
from .rules.restrict import optional_aliases
from .rules.run import together
from .rules.steady import Stability
from .text.refusal import Refusal, refused
from .text.supported import is_of_row


def key_of(
    tree: Tree, types: Mapping[str, str], stability: Stability, unique_key: Sequence[str], parsed_sql: exp.Query
) -> tuple[tuple[str, ...], bool]:
    """The columns by which rows are replaced, and whether their values can be computed from the rows that are read."""
    usable = usable_columns(types, stability.columns)
    select = select_of(tree.root)
    values = {} if select is None else {name: each for name, each in select.outputs if name in usable}
    kept = None if select is None else together(select, is_distinct=is_distinct(tree.root))
    direct = [name for name, each in values.items() if (is_of_row(each) if kept is None else each in kept)]
    if select is not None and kept is not None and {*kept} <= {*values.values()}:
        by = order_of_rows(select, tree.types)
        direct += [name for name, each in values.items() if each == by and each not in kept][:1]
    by_name = {name.lower(): name for name in types}
    wanted = [by_name[name.lower()] for name in unique_key if name.lower() in by_name]
    if wanted and set(wanted) <= set(usable) and stability.refusal(wanted) is None:
        return tuple(wanted), set(wanted) <= set(direct)
    if not direct and (total := total_of(tree.root, parsed_sql)) is not None:
        if total.construct and not isinstance(unsorted(tree.root), op.Limit):
            raise total
        return (), True
    fewest = stability.determined.fewest
    if kept is not None and direct:
        chosen = direct if stability.refusal(direct) is None else stability.covered(direct) or direct
        return tuple(fewest(tree.root, chosen)), True
    if kept is None and values:
        plain = [name for name in direct if isinstance(values[name], exp.Column)]
        grouped, _ = _of_groups(tree, tree.root, fewest(tree.root, _of_groups(tree, tree.root, plain)[0]))
        for chosen in (grouped or direct, stability.covered(direct)):
            if chosen and stability.refusal(chosen) is None:
                return tuple(chosen), True
    if stability.refusal(usable) is not None and (covered := stability.covered(usable)):
        return tuple(covered), False
    return tuple(usable), False


def _of_groups(
    tree: Tree, node: op.Result, names: Sequence[str], filtered: Collection[str] = ()
) -> tuple[list[str], bool]:
    """Some columns of a result, without those that do not tell affected rows from others, and whether it has groups.

    Rows of a partition change together, so its other columns are left out, except for the order of windows that look
    back. If all rows are of groups or partitions, the columns of optional sides of joins are left out, too: to find the
    rows that these join, their groups are enough. ``filtered``: the columns by which rows of the result are chosen.
    """
    select = select_of(node)
    if select is None:
        return [*names], False
    values, inner = dict(select.outputs), op.above_groups(select.child)
    is_grouped = isinstance(inner, (op.Group, op.Window))
    if is_grouped or is_distinct(node):
        kept = together(select, is_distinct=not is_grouped) or []
        found = [name for name in names if values[name] in kept]
        has_all = bool(kept) and {values[name] for name in found} == {*kept}
        by = order_of_rows(select, tree.types, [values[name] for name in filtered if name in values])
        found = [name for name in names if name in found or (values[name] == by and by is not None)]
        return (found, True) if has_all else ([*names], False)
    level = level_nodes(select.child)
    leaves = {each.alias: each for each in level if isinstance(each, op.Alias)}
    conditions = [part for each in level if isinstance(each, (op.Filter, op.Join)) for part in op.expressions_of(each)]
    read = {each for part in conditions for each in op.read_columns(part, tree.subqueries)}
    optional, grouped = optional_aliases(select.child), dict[str, bool]()
    found = []
    owners = {name: each.table if isinstance(each := values[name], exp.Column) else "" for name in names}
    for alias in dict.fromkeys(owners.values()):
        own = {values[name].name if alias else name: name for name in reversed(names) if owners[name] == alias}
        chosen = [name for table, name in read if table == alias]
        inside, is_whole = _of_groups(tree, leaves[alias].child, [*own], chosen) if alias in leaves else ([*own], False)
        found += [own[each] for each in inside]
        if alias not in optional:
            grouped[alias] = is_whole
    if not grouped or not all(grouped.values()):
        return [name for name in names if name in found], False
    return [name for name in names if name in found and owners[name] not in optional], True


def total_of(root: op.Result, parsed_sql: exp.Query) -> Refusal | None:
    """Whether all rows of a query belong together, so that any change can affect all of them, and why.

    The construct is empty for a total, which can be continued.
    """
    root = unsorted(root)
    if isinstance(root, op.Limit):
        advice = "for the first rows of each group, use row_number() with PARTITION BY and QUALIFY"
        return refused("LIMIT", parsed_sql, advice)
    select = select_of(root)
    inner = None if select is None else op.above_groups(select.child)
    if isinstance(inner, op.Window) and not all(partitions(inner)):
        return refused("a window without PARTITION BY", inner.functions[0], "partition all windows by columns")
    is_total = isinstance(inner, op.Group) and not inner.keys
    return Refusal("") if is_total else None


def usable_columns(types: Mapping[str, str], unstable: Collection[str]) -> list[str]:
    """The columns that can be part of a key, since they are compared exactly, also by Iceberg's bounds."""
    return [name for name, of in types.items() if Trait.BOUNDED in traits(of) and name.lower() not in unstable]


def select_of(root: op.Result) -> op.Project | None:
    """The SELECT of a query. None for a set operation or LIMIT."""
    while isinstance(root, (op.Sort, op.Distinct)):
        root = root.child
    return root if isinstance(root, op.Project) else None


def unsorted(root: op.Result) -> op.Result:
    """A query without its ORDER BY."""
    while isinstance(root, op.Sort):
        root = root.child
    return root


def is_distinct(root: op.Result) -> bool:
    """Whether a query is SELECT DISTINCT or UNION."""
    return isinstance(unsorted(root), op.Distinct)
