"""The types of columns of a tree."""

from __future__ import annotations

from sqlglot import exp

from ..types import Types, _common
from .nodes import (
    Column, Differing, Distinct, InState, Limit, Project, Result, SetOperation, Sort, Union,
)  # fmt: skip

_ANY = "void"
"""The type of NULL, which takes any type."""


class ColumnTypes(Types):
    """The types of expressions over the columns of a tree."""

    def __init__(self) -> None:
        super().__init__((), {})
        self.columns: dict[Column, str | None] = {}

    def _of_column(self, column: exp.Column) -> str | None:
        return self.columns.get((column.table, column.name))

    def of_result(self, node: Result) -> list[str | None]:
        """The types of the columns of a result."""
        return [None if each == _ANY else each for each in self._of_result(node)]

    def _of_result(self, node: Result) -> list[str | None]:
        match node:
            case Project():
                values = [each for _, each in node.outputs]
                return [_ANY if isinstance(each.unnest(), exp.Null) else self.of(each) for each in values]
            case Union() | SetOperation():
                sides = node.children if isinstance(node, Union) else (node.left, node.right)
                listed = zip(*map(self._of_result, sides), strict=True)
                return [self._together([each for each in types if each != _ANY]) for types in listed]
            case Distinct() | Sort() | Limit() | Differing() | InState():
                return self._of_result(node.child)  # type: ignore[arg-type] # a result

    def _together(self, types: list[str | None]) -> str | None:
        return _common(types) if types else _ANY
