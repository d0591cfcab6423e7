"""A model's code without what does not decide its rows: white space, comments, and its config() call."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dbt_common.clients.jinja import get_environment

_HOLE = "\ue000"
"""Stands for a piece of Jinja while the SQL around it is split; a private character, which no SQL has."""

_SQL = re.compile(
    r"""
      (?P<comment> -- (?: \\\n | [^\n] )* | /\*(?!\+) )      # the end of a bracketed one is found by counting
    | (?P<token>
        [rR] (?: '[^']*' | "[^"]*" )
      | ' (?: [^'\\] | \\. )* '? | " (?: [^"\\] | \\. )* "? | ` [^`]* `?
      | \w+ | \S
      )
    """,
    re.VERBOSE | re.DOTALL,
)
_BRACKETS = re.compile(r"/\*|\*/")
_CLOSING = {"variable_begin": "variable_end", "block_begin": "block_end", "raw_begin": "raw_end"}


def sql_tokens(template: str) -> list[str]:
    """The tokens of a SQL text with Jinja. Two texts of the same tokens render to SQL of the same meaning.

    Raises jinja2.TemplateError for Jinja that cannot be read.
    """
    text, holes = _with_holes(template)
    pieces = iter(holes)
    return [re.sub(_HOLE, lambda _: next(pieces), token) for token in _sql_tokens(text)]


def python_form(code: str) -> str:
    """Python code in one layout, without comments and the call of ``dbt.config()``; as it is if it cannot be read."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return code
    return ast.unparse(_WithoutConfig().visit(tree))


class _WithoutConfig(ast.NodeTransformer):
    """Replaces ``dbt.config(…)``, whose values dbt has resolved."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        called = node.value.func if isinstance(node.value, ast.Call) else None
        if isinstance(called, ast.Attribute) and ast.unparse(called) == "dbt.config":
            return ast.Pass()
        return node


def _with_holes(template: str) -> tuple[str, list[str]]:
    """A template with a hole for each piece of Jinja; and these pieces, without white space, comments and config()."""
    text: list[str] = []
    pieces: list[str] = []
    inside: list[str] | None = None
    end = ""
    for _, kind, value in get_environment().lex(template):
        if inside is not None:
            if kind == end:
                piece = "".join(f" {token}" for token in inside)
                if not piece.startswith(" config ("):
                    text.append(_HOLE)
                    pieces.append("{" + piece + " }")
                inside = None
            elif kind not in ("whitespace", "comment"):
                inside.append(_literal(value) if kind == "string" else value)
        elif kind in ("variable_begin", "block_begin"):
            inside, end = [], _CLOSING[kind]
        elif kind == "data":
            text.append(value.replace(_HOLE, " "))
    if inside:  # Jinja that does not end: dbt reports it
        pieces.append(" ".join(inside))
        text.append(_HOLE)
    return "".join(text), pieces


def _literal(token: str) -> str:
    """A Jinja string in one kind of quotes."""
    return repr(ast.literal_eval(token.replace("\n", "\\n")))


def _sql_tokens(text: str) -> Iterator[str]:
    at = 0
    while (found := _SQL.search(text, at)) is not None:
        at = found.end()
        if found["comment"] is None:
            yield found["token"]
            continue
        if found["comment"].startswith("/*"):
            at = _end_of_brackets(text, at)
        # Jinja in a comment is rendered too: it may end the comment, or call what runs a query
        yield from _HOLE * text.count(_HOLE, found.start(), at)


def _end_of_brackets(text: str, at: int) -> int:
    """The end of a bracketed comment, which may hold others, as in Spark."""
    depth = 1
    while depth and (found := _BRACKETS.search(text, at)) is not None:
        depth += 1 if found[0] == "/*" else -1
        at = found.end()
    return at if depth == 0 else len(text)
