"""Groups whose sums, counts and extremes are updated from the table's values and the added and removed rows.

This is the summary-delta method (Mumick, Quass and Mumick, "Maintenance of Data Cubes and Summary Tables in a
Warehouse", 1997) with the table itself as the summary. No other state is stored. For some groups, it is therefore
unknown whether a row, or a value that is not NULL, is left: those that lost more rows than they gained, and whose sums
are now 0. A sum that was too large for its type is NULL, like a sum without values. These doubtful groups are computed
from their rows, like other affected groups.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from sqlglot import exp

from ...names import sql_name
from ..algebra.nodes import Group, InState, Project, Result, column
from ..states import State
from ..text.clock import marks_in
from ..text.dialect import PlainSpark
from ..text.supported import is_aggregate, is_generator, is_of_row
from ..text.types import tells_apart
from .delta import row_difference
from .run import Run

_FIRST_VALUE = ("coalesce", "ifnull", "nvl")
_WITH_INT = 38 - 10
"""The maximum number of fractional digits of a decimal with 38 digits that must also hold any int."""


class Kind(Enum):
    """The kind of a measure."""

    SUM = "sum"
    SUM_OR_ZERO = "sum, 0 without values"
    COUNT = "count"
    MIN = "min"
    MAX = "max"

    @property
    def adds_up(self) -> bool:
        """Whether removed rows can be subtracted."""
        return self not in (Kind.MIN, Kind.MAX)


@dataclass(frozen=True)
class Measure:
    """An aggregate in a column of the result. ``value``: its argument; None if it counts rows.

    ``type``: the Spark type of the column. ``may_be_null``: whether ``value`` may be NULL.
    """

    column: str
    kind: Kind
    value: exp.Expr | None
    type: str
    may_be_null: bool

    @property
    def may_overflow(self) -> bool:
        """Whether the sum may be too large for its type. It is then NULL, unless ``spark.sql.ansi.enabled`` is set.

        Spark sums decimals of ``p`` digits with ``p + 10`` digits, but at most 38. Ten more digits are sufficient for
        the sum of 10 billion values. Sums of whole numbers wrap around, and so do sums of such sums.
        """
        return self.kind in (Kind.SUM, Kind.SUM_OR_ZERO) and self.type.startswith("decimal(38")


def measure_of(column: str, node: exp.Expr, type_: str) -> Measure | None:
    """A column of a result as a measure. None if it is not an aggregate, or cannot be updated from changed rows.

    ``type_``: the Spark type of the column.
    """
    node, or_zero = _without_default(node)
    condition = None
    if isinstance(node, exp.Filter):
        condition, node = node.expression.this, node.this
    if not is_aggregate(node) or len(node.expressions) != 1:
        return None
    name, value = node.name.lower(), node.expressions[0]
    if any(each is not None and (each.find(exp.Distinct) or not is_of_row(each)) for each in (value, condition)):
        return None
    counts_rows = isinstance(value, (exp.Star, exp.Literal))
    if not counts_rows and value.find(exp.Star) is not None:
        return None
    if condition is not None:
        true = exp.Literal.number(1) if counts_rows and name == "count" else value
        value, counts_rows = exp.Case(ifs=[exp.If(this=condition.copy(), true=true.copy())]), False
    if name == "count" and not or_zero:
        return Measure(column, Kind.COUNT, None if counts_rows else value, type_, not counts_rows)
    if name == "sum" and type_.startswith(("bigint", "decimal")) and not (or_zero and _may_be_rounded(type_)):
        return Measure(column, Kind.SUM_OR_ZERO if or_zero else Kind.SUM, value, type_, not _is_filled(value))
    if name in ("min", "max") and not or_zero and tells_apart(type_):
        return Measure(column, Kind(name), value, type_, True)
    return None


def _may_be_rounded(type_: str) -> bool:
    """Whether a decimal may have fewer digits than the sum, because it must also hold 0 as an int.

    An int has 10 digits before the point. Rounded partial sums do not add up to the total.
    """
    digits, _, scale = type_.removeprefix("decimal(").rstrip(")").partition(",")
    return digits == "38" and int(scale) >= _WITH_INT


def _without_default(node: exp.Expr) -> tuple[exp.Expr, bool]:
    """An expression without the 0 that replaces NULL, and whether it had one."""
    if not isinstance(node, exp.Anonymous) or node.name.lower() not in _FIRST_VALUE or len(node.expressions) != 2:
        return node, False
    inner, default = node.expressions
    is_zero = isinstance(default, exp.Literal) and not default.is_string and default.name == "0"
    return (inner, True) if is_zero else (node, False)


def _is_filled(value: exp.Expr) -> bool:
    """Whether a value is known never to be NULL."""
    inner = value.unnest()
    if isinstance(inner, exp.Literal):
        return True
    if isinstance(inner, exp.Case):
        default = inner.args.get("default")
        return default is not None and all(
            map(_is_filled, [default, *(each.args["true"] for each in inner.args["ifs"])])
        )
    if not isinstance(inner, exp.Anonymous):
        return False
    if inner.name.lower() in _FIRST_VALUE:
        return any(map(_is_filled, inner.expressions))
    return inner.name.lower() == "if" and all(map(_is_filled, inner.expressions[1:]))


_RESERVED = "ip_"
_ROWS, _SIGN, _OLD = "ip_rows", "ip_sign", "ip_old"


@dataclass(frozen=True)
class SummaryDelta:
    """Groups whose measures can be updated from changed rows. ``keys``: the group expressions, by column.

    ``derived``: expressions over keys and measures, by column. ``columns``: the columns of the result, in order.
    ``key_types``: Spark types.
    """

    group: Group
    keys: Mapping[str, exp.Expr]
    key_types: tuple[str, ...]
    measures: tuple[Measure, ...]
    derived: Mapping[str, exp.Expr]
    columns: tuple[str, ...]

    @property
    def continued_types(self) -> dict[str, str]:
        """The Spark types that the table's columns must have, so that its values can be updated."""
        measures = {each.column: each.type for each in self.measures}
        return {**dict(zip(self.keys, self.key_types, strict=True)), **measures}

    def delta_sql(self, changes: Run) -> str | None:
        """The query for the changes of each group: its keys, and the changes of its number of rows and measures.

        None if the added and removed rows are unknown, or cannot be subtracted.
        """
        found = self.delta(changes)
        if not found:
            return None
        signed = [f"select * from ({changes.sql(each)})" for _, each in found]
        keys = [sql_name(key) for key in self.keys]
        columns, differs = [f"sum({_SIGN}) as {_ROWS}"], [f"{_ROWS} <> 0"]
        for number, each in enumerate(self.measures):
            change = _of_delta(each, number)
            columns.append(f"{change} as {sql_name(each.column)}")
            columns.append(f"sum(if({_value(number)} is null, 0, {_SIGN})) as {_filled(number)}")
            differs.append(f"{_filled(number)} <> 0")
            if each.may_overflow:
                columns.append(f"if(count({_value(number)}) > 0 and {change} is null, 1, 0) as {_overflow(number)}")
                differs.append(f"{_overflow(number)} > 0")
            if each.kind.adds_up:
                # not coalesce(…, 0) <> 0, whose type would round a decimal with more than 28 fractional digits
                differs.append(f"{sql_name(each.column)} <> cast(0 as {each.type})")
        rows, group = "\nunion all\n".join(signed), f"\ngroup by {', '.join(keys)}" if keys else ""
        return (
            f"select * from (\nselect {', '.join([*keys, *columns])} from (\n{rows}\n){group}\n) where "
            + " or ".join(differs)
        )

    def delta(self, changes: Run) -> list[tuple[int, Result]] | None:
        """The added and removed rows of the groups, each with its sign. None as in ``delta_sql``."""
        signed: list[tuple[int, Result]] = []
        for sign, state in ((1, State.ADDED), (-1, State.REMOVED)):
            found = row_difference(changes, self.group.child, state)
            values = [each for _, each in self._values]
            if found is None or any(map(changes.shifts, values)) or (found and sign < 0 and not self._adds_up):
                return None
            outputs = (*self._values, (_SIGN, exp.Literal.number(sign)))
            signed += [(sign, InState(Project(each, outputs), State.NEW)) for each in found]
        return signed or None

    def rows_sql(self, old: str, delta: str) -> str:
        """The query for the updated rows of ``old``, given a delta. Both are relations for FROM."""
        values = [f"{self._continued(number)} as {sql_name(each.column)}" for number, each in enumerate(self.measures)]
        keys = [sql_name(key) for key in self.keys]
        where = f" where {self._is_there}" if keys else ""
        found = f"select {', '.join([*keys, *values])} from (\n{self._merged_sql(old, delta)}\n){where}"
        listed = (
            f"{self.derived[name].sql(PlainSpark)} as {sql_name(name)}" if name in self.derived else sql_name(name)
            for name in self.columns
        )
        return f"select {', '.join(listed)} from (\n{found}\n)"

    def doubtful_sql(self, old: str, delta: str) -> str | None:
        """The query that returns a row if a group is doubtful. None if no group can be.

        The relations are as in ``rows_sql``.
        """
        doubts = [*self._doubts_after_removals(), *self._doubts_after_overflows()]
        if not doubts:
            return None
        any_doubt = " or ".join(f"({each})" for each in doubts)
        return f"select 1 from (\n{self._merged_sql(old, delta)}\n) where {any_doubt} limit 1"

    def _doubts_after_removals(self) -> Iterator[str]:
        """The conditions for groups that may have lost all their rows, or all their values."""
        if not self._adds_up:
            return  # no rows were removed
        if self.keys and self._number_of_rows is None:
            sums = [f"coalesce({sql_name(each.column)}, 0) = 0" for each in self.measures]
            yield " and ".join([f"{_OLD} > 0", f"{_ROWS} < 0", *sums])
        for number, each in enumerate(self.measures):
            if each.kind is Kind.SUM and (each.may_be_null or not self.keys):
                lost = f"{_had(number)} > 0 and {_filled(number)} < 0 and {sql_name(each.column)} = 0"
                yield f"{lost} and {self._is_there}" if self.keys else lost

    def _doubts_after_overflows(self) -> Iterator[str]:
        """The conditions for groups whose old sum, or whose change, may have been too large for its type."""
        for number, each in enumerate(self.measures):
            if each.may_overflow:
                column = sql_name(each.column)
                changes = f"coalesce({column}, 0) <> 0" if each.kind is Kind.SUM_OR_ZERO else f"{column} is not null"
                yield f"{_overflow(number)} > 0 or ({_OLD} > 0 and {_had(number)} = 0 and {changes})"

    @property
    def _adds_up(self) -> bool:
        return all(each.kind.adds_up for each in self.measures)

    @property
    def _number_of_rows(self) -> str | None:
        """The column with the number of a group's rows. None if there is none."""
        return next((each.column for each in self.measures if each.kind is Kind.COUNT and each.value is None), None)

    @property
    def _is_there(self) -> str:
        """The condition that a group has rows, unless this is doubtful."""
        number = self._number_of_rows
        return f"({_OLD} > 0 or {_ROWS} > 0)" if number is None else f"{sql_name(number)} > 0"

    @property
    def _values(self) -> tuple[tuple[str, exp.Expr], ...]:
        """The keys and values of the rows that are grouped."""
        values = ((_value(at), each.value or exp.Literal.number(1)) for at, each in enumerate(self.measures))
        return (*self.keys.items(), *values)

    def _merged_sql(self, old: str, delta: str) -> str:
        """The query for each group: its number of old rows, the change in this number, and its combined measures."""
        keys = [sql_name(key) for key in self.keys]
        of_old, of_delta, merged = ["1 as " + _OLD, f"0 as {_ROWS}"], [f"0 as {_OLD}", _ROWS], []
        for number, each in enumerate(self.measures):
            column = sql_name(each.column)
            of_old += [column, f"0 as {_filled(number)}", f"if({_is_unknown(each)}, 0, 1) as {_had(number)}"]
            of_delta += [column, _filled(number), f"0 as {_had(number)}"]
            merged.append(f"{'sum' if each.kind.adds_up else each.kind.value}({column}) as {column}")
            merged += [f"sum({name}) as {name}" for name in (_filled(number), _had(number))]
            if each.may_overflow:
                of_old.append(f"0 as {_overflow(number)}")
                of_delta.append(_overflow(number))
                merged.append(f"sum({_overflow(number)}) as {_overflow(number)}")
        rows = (
            f"select {', '.join([*keys, *of_old])} from {old}\nunion all\n"
            f"select {', '.join([*keys, *of_delta])} from {delta}"
        )
        columns = [*keys, f"sum({_OLD}) as {_OLD}", f"sum({_ROWS}) as {_ROWS}", *merged]
        group = f" group by {', '.join(keys)}" if keys else ""
        return f"select {', '.join(columns)} from (\n{rows}\n){group}"

    def _continued(self, number: int) -> str:
        """The updated value of a measure that is not doubtful."""
        each = self.measures[number]
        value = sql_name(each.column)
        if each.kind.adds_up:
            value = f"cast({value} as {each.type})"
        if each.kind in (Kind.COUNT, Kind.SUM_OR_ZERO):
            return f"coalesce({value}, 0)"
        if each.kind is Kind.SUM and (each.may_be_null or not self.keys):
            return f"if({_had(number)} > 0 or {_filled(number)} > 0, {value}, null)"
        return value


def summary_delta(
    root: Result, types: Mapping[str, str], key_columns: Collection[str], unstable: Collection[str]
) -> SummaryDelta | None:
    """How the measures of a query are updated from changed rows. None unless all columns can be updated.

    ``types``: the Spark types of the result's columns. ``key_columns``: the columns that could be a key. ``unstable``:
    the columns whose values can differ between computations, in lower case.
    """
    if not isinstance(root, Project) or not isinstance(root.child, Group) or root.child.sets is not None:
        return None
    if any(name.lower() in unstable or name.lower().startswith(_RESERVED) for name in types):
        return None
    group = root.child
    values = {name: _over_rows(each, group) for name, each in root.outputs}
    if any(is_generator(node) for each in values.values() for node in each.walk()):
        return None  # otherwise, a group would have several rows in the table, or none
    keys = {name: value for name, value in values.items() if value in group.keys}
    if not all(each in keys.values() for each in group.keys) or not set(keys) <= set(key_columns):
        return None
    if not all(tells_apart(types[name]) for name in keys):
        return None
    found = [measure_of(name, value, types[name]) for name, value in values.items() if name not in keys]
    measures = tuple(each for each in found if each is not None)
    # Constants are not replaced by columns: round() requires a constant for its digits, and the digits of a quotient
    # depend on the length of a literal.
    known = {value: name for name, value in keys.items() if value.find(exp.Column) is not None}
    known |= {values[each.column]: each.column for each in measures}
    derived = {name: _derived(values[name], known) for name in types if name not in known.values() and name not in keys}
    if not measures or any(each is None for each in derived.values()):
        return None
    rest = {name: each for name, each in derived.items() if each is not None}
    return SummaryDelta(group, keys, tuple(types[name] for name in keys), measures, rest, tuple(types))


def _over_rows(node: exp.Expr, group: Group) -> exp.Expr:
    """An expression over the columns of groups as one over the rows that are grouped."""
    known = {column((group.alias, f"g{at}")): each for at, each in enumerate(group.keys)}
    known |= {column((group.alias, f"m{at}")): each for at, each in enumerate(group.measures)}
    return node.transform(lambda each: known[each].copy() if each in known else each)


def _derived(node: exp.Expr, known: Mapping[exp.Expr, str]) -> exp.Expr | None:
    """An expression over columns of the result. None if it reads anything else."""

    def by_name(each: exp.Expr) -> exp.Expr:
        return exp.column(known[each], quoted=True) if each in known else each

    found = node.copy().transform(by_name)
    names = set(known.values())
    if marks_in(found):
        return None  # the groups that have not changed need the present time as well
    for each in found.walk():
        if (
            # the variable of a lambda may have the name of a column
            isinstance(each, (exp.Filter, exp.Lambda))
            or is_aggregate(each)
            or (isinstance(each, exp.Column) and (each.table or each.name not in names))
        ):
            return None
    return found


def _of_delta(measure: Measure, number: int) -> str:
    """The change of a measure, from the signed rows of its group."""
    value = _value(number)
    if measure.kind is Kind.COUNT:
        return f"sum(if({value} is null, 0, {_SIGN}))"
    if not measure.kind.adds_up:
        return f"{measure.kind.value}({value})"
    # The cast gives the sum of sums the scale of the result. Values are negated, not multiplied by the sign.
    typed = f"cast({value} as {measure.type})"
    return f"sum(if({_SIGN} > 0, {typed}, -{typed}))"


def _value(number: int) -> str:
    """The name of a measure's argument, in the added and removed rows."""
    return f"ip_value_{number}"


def _filled(number: int) -> str:
    """The name of the column with the change in the number of rows that have a value for a measure."""
    return f"ip_filled_{number}"


def _had(number: int) -> str:
    """The name of the column with the number of old rows that have a value for a measure."""
    return f"ip_had_{number}"


def _is_unknown(measure: Measure) -> str:
    """The condition that an old value may stand for no values, or for a sum that was too large."""
    column = sql_name(measure.column)
    is_null = f"{column} is null"
    return f"{is_null} or {column} = 0" if measure.kind is Kind.SUM_OR_ZERO else is_null


def _overflow(number: int) -> str:
    """The name of the column that is positive if the change of a sum is too large for its type."""
    return f"ip_overflow_{number}"
