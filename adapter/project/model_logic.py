"""The logic of a model: everything in its project that determines its rows. Runs record its fingerprint.

Fingerprints ignore white space, comments, and configs that do not affect rows. Relations count as they are written,
such as ``ref('orders')``, so the same model has the same logic in each environment. Values that Jinja computes at run
time (``run_query()``, ``run_started_at``, ``invocation_id``) do not count.
"""

from __future__ import annotations

import ast
import base64
import binascii
import difflib
import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jinja2
from dbt_common.clients.jinja import get_environment

from iceberg_incremental.names import plain_name

from .graph import Node, is_ephemeral, parent_ids, reached_from
from .jinja import JinjaScope, Names, is_set_in, names_in, reached

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
_SQL_PARTS = re.compile(
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
    while (found := _SQL_PARTS.search(text, at)) is not None:
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


_VERSION = "1"
"""The version of the computation. A recorded fingerprint of another version is accepted once."""
_MAX_ENCODED = 30_000
"""Longer documents are not stored, because Hive metastores limit the length of a property."""
_MAX_DECODED = 4_194_304
_SHOWN_LINES = 12
_SQL, _PYTHON = "SQL", "Python"
"""The names of the model's own code among the parts. They do not change if the model is renamed."""
_COLUMN_LISTS = ("merge_update_columns", "merge_exclude_columns", "merge_fixed_columns", "sequence_by")
_OF_NODE = ("config", "meta", "columns", "description", "tags", "version")
"""Metadata of the project's files that a model's SQL can read, such as ``model.columns``."""
_TEXTS = ("incremental_predicates", "predicates", "sql_header")


@dataclass(frozen=True)
class ModelLogic:
    """The code, values and configs that determine the rows of a model.

    ``code``: the texts of all parts by name, starting with the model itself. ``values``: the values that these texts
    read, by expression, for example ``var('region')``. ``config``: the configs that affect rows. All values are JSON.
    """

    code: Mapping[str, str]
    values: Mapping[str, str]
    config: Mapping[str, str]

    @cached_property
    def fingerprint(self) -> str:
        """The version of the computation, and a hash."""
        normal = {part: self.normal(part) for part in self.code}
        text = json.dumps([normal, self.values, self.config], sort_keys=True)
        return f"{_VERSION}:{hashlib.sha256(text.encode()).hexdigest()[:20]}"

    def normal(self, part: str) -> str | list[str] | None:
        """The normal form of a part, without code that does not affect rows. Unchanged if used in quoted text."""
        text = self.code.get(part)
        if text is None or part == _PYTHON:
            return None if text is None else python_form(text)
        try:
            return text if part in self._quoted or is_set_in(text, self._in_quotes) else sql_tokens(text)
        except jinja2.TemplateError:
            return text

    @cached_property
    def _in_quotes(self) -> frozenset[str]:
        """The names that Jinja inserts into quoted text, in any part."""
        texts = (text for part, text in self.code.items() if part != _PYTHON)
        return frozenset(name for text in texts for name in names_in(_in_quotes(text)).called)

    @cached_property
    def _quoted(self) -> frozenset[str]:
        """The macros whose text may become part of quoted text."""

        def called(name: str) -> Iterable[str]:
            return names_in(self.code[_macro(name)]).called if _macro(name) in self.code else ()

        return frozenset(map(_macro, reached_from(self._in_quotes, called)))

    def encoded(self) -> str | None:
        """The value of the table property. None if the logic is too long."""
        text = json.dumps([self.code, self.values, self.config])
        encoded = base64.b64encode(zlib.compress(text.encode(), 9)).decode()
        return encoded if len(encoded) <= _MAX_ENCODED else None

    def is_comparable(self, fingerprint: str) -> bool:
        """Whether a recorded fingerprint was computed in the same way as in this version."""
        return fingerprint.startswith(f"{_VERSION}:")

    def differences_since(self, recorded: str | None, fingerprint: str) -> Sequence[str]:
        """The differences from an earlier logic in a few lines. ``recorded``: the table property with this logic."""
        before = decoded(recorded, fingerprint)
        return () if before is None else differences(before, self)


def decoded(text: str | None, fingerprint: str) -> ModelLogic | None:
    """The logic in a table property, if it has this fingerprint. None otherwise."""
    try:
        unpacker = zlib.decompressobj()
        packed = base64.b64decode(text or "", validate=True)
        code, values, config = json.loads(unpacker.decompress(packed, _MAX_DECODED))
        found = ModelLogic(dict(code), dict(values), dict(config))
        return found if found.fingerprint == fingerprint else None
    except (binascii.Error, zlib.error, ValueError, TypeError, AttributeError, jinja2.TemplateError):
        return None


def logic_of(node: Node, graph: Mapping[str, Any], scope: JinjaScope) -> ModelLogic:
    """The logic of a model. ``graph``: dbt's graph, for the ephemeral models that it refers to."""
    text = str(node.get("raw_code") or "")
    if node.get("language") == "python":
        return ModelLogic({_PYTHON: text}, _python_values(text, node), _config(node))
    code, called = {_SQL: text}, dict[str, Sequence[str]]()
    names, macros = reached(text, scope.macros)
    values = dict(_values(names, node, scope))
    called |= macros
    for part, inner in _ephemeral(node, graph):
        code[part] = str(inner.get("raw_code") or "")
        names, macros = reached(code[part], scope.macros)
        values |= {f"{name} in {part}": value for name, value in _values(names, inner, scope)}
        called |= macros
    code |= {_macro(name): "\n".join(texts) for name, texts in sorted(called.items())}
    return ModelLogic(code, values, _config(node))


def differences(before: ModelLogic, now: ModelLogic) -> list[str]:
    """The differences from an earlier logic, in a few lines: code as a diff, other values as old and new value."""
    lines: list[str] = []
    for part in dict.fromkeys([*before.code, *now.code]):
        old, new = before.code.get(part), now.code.get(part)
        if old is None or new is None:
            lines.append(f"{part}: {'added' if old is None else 'removed'}")
        elif before.normal(part) != now.normal(part):
            lines += [f"{part}:", *_diff(old, new)]
    for earlier, later in ((before.values, now.values), (before.config, now.config)):
        for key in dict.fromkeys([*earlier, *later]):
            if earlier.get(key) != later.get(key):
                lines.append(f"{key}: {_shown(earlier.get(key))} → {_shown(later.get(key))}")
    left_out = len(lines) - _SHOWN_LINES
    return lines if left_out <= 0 else [*lines[:_SHOWN_LINES], f"… and {left_out} more lines"]


def _diff(old: str, new: str) -> Iterator[str]:
    def lines(text: str) -> list[str]:
        return [line.rstrip() for line in text.splitlines() if line.strip()]

    for line in difflib.unified_diff(lines(old), lines(new), n=0, lineterm=""):
        if not line.startswith(("---", "+++", "@@")):
            yield f"  {line[:160]}"


def _shown(value: str | None) -> str:
    return "not set" if value is None else value[:80]


def _macro(name: str) -> str:
    """The name of the part for the macros with a name."""
    return f"macro {name}"


def _in_quotes(text: str) -> str:
    try:
        return jinja_in_quotes(text)
    except jinja2.TemplateError:
        return ""


def _ephemeral(node: Node, graph: Mapping[str, Any]) -> Iterator[tuple[str, Node]]:
    """The ephemeral models in a model's SQL, by unique id."""
    nodes = graph["nodes"]

    def parents(name: str) -> Sequence[str]:
        return parent_ids(nodes[name]) if is_ephemeral(nodes.get(name, {})) else ()

    found = reached_from(parent_ids(node), parents)
    return ((each, nodes[each]) for each in found if is_ephemeral(nodes.get(each, {})))


def _values(names: Names, node: Node, scope: JinjaScope) -> Iterator[tuple[str, str]]:
    """The values of names for a model. If a name is computed, all possible values are included.

    An environment variable may be secret, so its value is hashed.
    """
    variables = scope.variables(str(node["package_name"])) if names.variables else {}
    for name in _each(names.variables, variables):
        yield f"var('{name}')", _json(variables.get(name))
    for name in _each(names.target, scope.target.keys() - {"threads"}):
        yield f"target.{name}", _json(scope.target.get(name))
    for name in _each(names.config, _configs(node)):
        yield f"config.get('{name}')", _json(_configured(node, name))
    for keys in sorted(names.node):
        if keys[0] in _OF_NODE:
            yield ".".join(("model", *keys)), _json(_at(node, keys))
    for name in _each(names.environment, ()):
        value = scope.environment.get(name)
        yield (
            f"env_var('{name}')",
            "null" if value is None else f"#{hashlib.sha256(value.encode()).hexdigest()[:8]}",
        )


def _at(value: Any, keys: Sequence[str]) -> Any:
    """The value at these keys, as far as they exist. The last key may be a method."""
    for key in keys:
        if not isinstance(value, Mapping) or key not in value:
            break
        value = value[key]
    return value


def _each(names: Iterable[str | None], every: Iterable[str]) -> list[str]:
    return sorted({each for name in names for each in (every if name is None else [name])})


def _python_values(code: str, node: Node) -> dict[str, str]:
    """The configs that a Python model reads with ``dbt.config.get()``."""
    try:
        calls = [each for each in ast.walk(ast.parse(code)) if isinstance(each, ast.Call)]
    except SyntaxError:
        return {}
    read = (each for each in calls if ast.unparse(each.func) in ("dbt.config.get", "dbt.config.meta_get"))
    names = {str(each.args[0].value) if each.args and isinstance(each.args[0], ast.Constant) else None for each in read}
    return {f"dbt.config.get('{name}')": _json(_configured(node, name)) for name in _each(names, _configs(node))}


def _configs(node: Node) -> set[str]:
    config = node["config"]
    return {*config, *(config.get("meta") or ())}


def _configured(node: Node, name: str) -> Any:
    config = node["config"]
    return config.get(name, (config.get("meta") or {}).get(name))


def _config(node: Node) -> dict[str, str]:
    """The configs that affect a model's rows, in a uniform notation. Configs that are not set are omitted."""
    config = node["config"]
    strategy = config.get("incremental_strategy") or "append"
    found: dict[str, Any] = {"incremental_strategy": strategy, "unique_key": sorted(_columns(config, "unique_key"))}
    found |= {name: _columns(config, name) for name in _COLUMN_LISTS}
    found |= {name: _listed(config.get(name)) for name in _TEXTS}
    if strategy == "insert_overwrite":
        found["partition_by"] = _listed(config.get("partition_by"))
    return {name: _json(value) for name, value in found.items() if value}


def _columns(config: Mapping[str, Any], name: str) -> list[str]:
    value = config.get(name) or ()
    names: Sequence[object] = [value] if isinstance(value, str) else value
    return [plain_name(str(each)).lower() for each in names]


def _listed(value: object) -> object:
    """A config that accepts one text or a list, as a list."""
    return [value] if isinstance(value, str) and value else value


def _json(value: object) -> str:
    return json.dumps(_with_text_keys(value), sort_keys=True, default=str)


def _with_text_keys(value: object) -> object:
    """A value that JSON supports. YAML keys can have any type, such as dates."""
    if isinstance(value, Mapping):
        return {str(key): _with_text_keys(each) for key, each in value.items()}
    return [_with_text_keys(each) for each in value] if isinstance(value, (list, tuple)) else value
