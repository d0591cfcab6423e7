"""A model's code without the parts that do not affect its rows: white space, comments, and its config() call."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from dbt_common.clients.jinja import get_environment

_VALUE, _BLOCK, _BRANCH = "\ue000", "\ue001", "\ue002"
"""Placeholders for Jinja while the surrounding SQL is split: for ``{{ … }}``, which renders to text; for ``{% … %}``,
which renders to nothing; and for ``{% else %}`` and ``{% elif … %}``. They are private-use characters, which SQL does
not contain."""
_HOLES = re.compile(f"[{_VALUE}{_BLOCK}{_BRANCH}]")
_BRANCHES = ("else", "elif")

_QUOTES = ("'", '"', "`")
_UNIT = rf"""
    (?: [rR] (?: '[^']*' | "[^"]*" )
      | ' (?: [^'\\] | \\. | '' )* '? | " (?: [^"\\] | \\. | "" )* "? | ` (?: [^`] | `` )* `?
      | \w+ | {_VALUE}
    )
"""
_SQL = re.compile(
    rf"""
      (?P<comment> -- (?: \\\n | [^\n] )* | /\*(?!\+) )      # _end_of_brackets finds the end of a bracketed comment
    | (?P<token>  # Jinja and adjacent text are one token: {{{{ a }}}}_b is another name than {{{{ a }}}} _b
        {_UNIT} (?: {_BLOCK}+ {_UNIT} | (?<={_VALUE}) {_UNIT} | {_VALUE} )* | \S
      )
    """,
    re.VERBOSE | re.DOTALL,
)
_BRACKETS = re.compile(r"/\*(?!\+)|\*/")
_CLOSING = {"variable_begin": "variable_end", "block_begin": "block_end", "raw_begin": "raw_end"}


def sql_tokens(template: str) -> list[str]:
    """The tokens of SQL with Jinja. Two texts with the same tokens render to SQL with the same meaning.

    Raises jinja2.TemplateError for Jinja that cannot be parsed.
    """
    text, holes = _with_holes(template)
    pieces = iter(holes)
    return [_HOLES.sub(lambda _: next(pieces), token) for token in _sql_tokens(text)]


def jinja_in_quotes(template: str) -> str:
    """The expressions that Jinja inserts into quoted text, as a template. In quoted text, white space matters.

    Raises jinja2.TemplateError for Jinja that cannot be parsed.
    """
    text, holes = _with_holes(template)
    pieces = iter(holes)
    found: list[str] = []
    for token in _sql_tokens(text):
        values = [(kind, next(pieces)) for kind in _HOLES.findall(token)]
        if any(quote in token for quote in _QUOTES):
            found += ["{" + piece + "}" for kind, piece in values if kind == _VALUE]
    return "".join(found)


def python_form(code: str) -> str:
    """Python code without layout, comments and the call of ``dbt.config()``. Unchanged if it cannot be parsed.

    Unlike ``ast.unparse`` and ``ast.dump``, it returns the same text in all versions of Python.
    """
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return code
    return _dumped(_WithoutConfig().visit(tree))


def _dumped(node: object) -> str:
    if isinstance(node, list):
        return f"[{' '.join(map(_dumped, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.JoinedStr):  # in Python 3.12, f-strings may contain empty constants
        node.values = [each for each in node.values if not (isinstance(each, ast.Constant) and each.value == "")]
    # later versions of Python have additional fields, which are empty if the code does not use them
    fields = [(name, value) for name, value in ast.iter_fields(node) if value is not None and value != []]
    return f"{type(node).__name__}({' '.join(f'{name}={_dumped(value)}' for name, value in fields)})"


class _WithoutConfig(ast.NodeTransformer):
    """Removes calls of ``dbt.config(…)``, because dbt has resolved their values."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        called = node.value.func if isinstance(node.value, ast.Call) else None
        if isinstance(called, ast.Attribute) and ast.unparse(called) == "dbt.config":
            return ast.Pass()
        return node


def _with_holes(template: str) -> tuple[str, list[str]]:
    """A template with a placeholder for each piece of Jinja, and the pieces.

    The pieces have no white space and no comments. Calls of config() are omitted.
    """
    text: list[str] = []
    pieces: list[str] = []
    inside: list[str] | None = None
    end = ""
    for _, kind, value in get_environment().lex(template):
        if inside is not None:
            if kind == end:
                piece = "".join(f" {token}" for token in inside)
                if not piece.startswith(" config ("):
                    text.append(_hole(kind, inside))
                    pieces.append("{" + piece + " }")
                inside = None
            elif kind not in ("whitespace", "comment"):
                inside.append(_literal(value) if kind == "string" else value)
        elif kind in ("variable_begin", "block_begin"):
            inside, end = [], _CLOSING[kind]
        elif kind == "data":
            text.append(_HOLES.sub(" ", value))
    if inside:  # Jinja without an end, which dbt reports
        pieces.append(" ".join(inside))
        text.append(_VALUE)
    return "".join(text), pieces


def _hole(end: str, tokens: Sequence[str]) -> str:
    if end == "variable_end":
        return _VALUE
    return _BRANCH if tokens[:1] and tokens[0] in _BRANCHES else _BLOCK


def _literal(token: str) -> str:
    """A Jinja string literal with uniform quotes and resolved escapes."""
    return repr(token[1:-1].encode("ascii", "backslashreplace").decode("unicode-escape"))


def _sql_tokens(text: str) -> Iterator[str]:
    at = 0
    while (found := _SQL.search(text, at)) is not None:
        at = found.end()
        if found["comment"] is None:
            yield found["token"]
            continue
        if found["comment"].startswith("/*"):
            at = _end_of_brackets(text, at)
        # dbt also renders Jinja in a comment. It may run a query, or end the comment.
        jinja = _HOLES.search(text, found.start(), at)
        if jinja is not None:
            yield text[jinja.start() : at].rstrip()


def _end_of_brackets(text: str, at: int) -> int:
    """The end of a bracketed comment. Comments can be nested, as in Spark."""
    depth = 1
    while depth and (found := _BRACKETS.search(text, at)) is not None:
        depth += 1 if found[0] == "/*" else -1
        at = found.end()
    return at if depth == 0 else len(text)
