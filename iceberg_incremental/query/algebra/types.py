"""The types of columns of a tree."""

from __future__ import annotations

from sqlglot import exp

from ..text.types import Types, common_type
from .nodes import (
    Differing,
    Distinct,
    InState,
    Limit,
    Project,
    Result,
    SetOperation,
    Sort,
    Union,
)  # fmt: skip

ANY = "void"
"""The type of NULL, which takes any type."""


class ColumnTypes(Types):
    """The types of expressions over the columns of a tree."""

    def of_result(self, node: Result) -> list[str | None]:
        """The types of the columns of a result."""
        return [None if each == ANY else each for each in self.of_branch(node)]

    def of_branch(self, node: Result) -> list[str | None]:
        """The types as in ``of_result``, with ``ANY`` for columns of NULLs."""
        match node:
            case Project():
                values = [each for _, each in node.outputs]
                return [ANY if isinstance(each.unnest(), exp.Null) else self.of(each) for each in values]
            case Union() | SetOperation():
                sides = node.children if isinstance(node, Union) else (node.left, node.right)
                listed = zip(*map(self.of_branch, sides), strict=True)
                return [self._together([each for each in types if each != ANY]) for types in listed]
            case Distinct() | Sort() | Limit() | Differing() | InState():
                return self.of_branch(node.child)

    def _together(self, types: list[str | None]) -> str | None:
        return common_type(types) if types else ANY
