"""A model as its project has it at one time: the parts that affect its rows, the parts that do not, and its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .edit_sources import LOG, MIRROR

APPEND, MERGE, OVERWRITE, APPLY = "append", "merge", "insert_overwrite", "apply_changes"
INLINE, MACRO, VAR, EPHEMERAL = "inline", "macro", "var", "ephemeral"
SYNTAX, UNKNOWN_COLUMN = "syntax", "unknown column"


@dataclass(frozen=True)
class Spec:
    """A model with the columns id, k, d, v and at, and sometimes w.

    ``operation`` and ``operand``: how v is computed. ``place``: the place of the operand. ``types``: the columns with
    casts. ``images``: whether a changelog contains old versions of rows. ``noise``: parts that affect no row.
    """

    number: int
    source: str
    strategy: str = APPEND
    key: tuple[str, ...] = ("id",)
    sequence: bool = False
    partitioned: bool = False
    operation: str = "*"
    operand: int = 1
    place: str = INLINE
    types: tuple[tuple[str, str], ...] = ()
    condition: str = ""
    has_w: bool = False
    has_k: bool = True
    value_name: str = "v"
    images: bool = False
    broken: str = ""
    on_sql_change: str | None = None
    on_schema_change: str | None = None
    on_source_rewrite: str = "fail"
    noise: int = 0

    @property
    def name(self) -> str:
        return f"edited_{self.number:04}"

    @property
    def is_keyed(self) -> bool:
        return self.strategy in (MERGE, APPLY)

    @property
    def reads_net(self) -> bool:
        """Whether the model reads a changelog, in which all commits form one net difference."""
        return self.strategy == APPLY and self.source == MIRROR

    @property
    def logic(self) -> object:
        """The part that counts as the model's logic. Specs with different logics have different values."""
        return replace(
            self, noise=0, on_sql_change=None, on_schema_change=None, on_source_rewrite="", partitioned=False,
            key=tuple(sorted(self.key)) if self.is_keyed else (), images=self.images and self.reads_net,
            types=tuple((name, type_) for name, type_ in self.types if self.has_k or name != "k"),
        )  # fmt: skip

    @property
    def types_by_column(self) -> dict[str, str]:
        """The columns that the SQL returns, with their types, in the order of the SQL."""
        casts = dict(self.types)
        natural = {"id": "int", "k": "int", "d": "int", "v": "double" if self.operation == "/" else "int", "at": "int"}
        found = {self.returned(name): casts.get(name, type_) for name, type_ in natural.items()}
        if not self.has_k:
            del found["k"]
        return {**found, "w": "int"} if self.has_w else found

    def returned(self, column: str) -> str:
        """The name that the SQL gives a column."""
        return self.value_name if column == "v" else column

    # The files

    @property
    def variables(self) -> dict[str, int]:
        """The variables in the command. No SQL reads some of them."""
        used = {f"n_{self.name}": self.operand} if self.place == VAR and self.operand != 1 else {}
        unused = {f"unused_{self.name}": self.noise} if self.noise % 3 == 1 else {}
        return {**used, **unused}

    @property
    def macro(self) -> str:
        """The text of the macro. The SQL may call it."""
        operand = self.operand if self.place == MACRO else self.noise
        comment = ("", "{# as agreed #}", "-- as agreed\n", " ")[self.noise % 4]
        return f"{{% macro value_of_{self.name}(c) %}}{comment}{{{{ c }}}} * {operand}{{% endmacro %}}"

    @property
    def ephemeral(self) -> str:
        """The text of the ephemeral model. The SQL may refer to it."""
        operand = self.operand if self.place == EPHEMERAL else self.noise
        comment = ("", "/* as agreed */", "-- as agreed\n")[self.noise % 3]
        return f"{{{{ config(materialized='ephemeral') }}}} select {comment} {operand} as n"

    @property
    def config(self) -> Mapping[str, Any]:
        found: dict[str, Any] = {"incremental_strategy": self.strategy, "on_source_rewrite": self.on_source_rewrite}
        if self.is_keyed:
            keys = [*self.key][:: -1 if self.noise % 2 else 1]
            found["unique_key"] = keys[0] if len(keys) == 1 and self.noise % 3 else keys
        if self.sequence:
            found["sequence_by"] = "at"
        if self.partitioned:
            found["partition_by"] = "d"
        found |= {
            key: value
            for key, value in (("on_sql_change", self.on_sql_change), ("on_schema_change", self.on_schema_change))
            if value is not None
        }
        if self.noise % 5 == 2:
            found |= {"tags": [f"t{self.noise}"], "meta": {"owner": self.noise}, "hold_source": "3 days"}
        return found

    @property
    def sql(self) -> str:
        text = f"select {', '.join(self._columns())}{self._from()}"
        if self.broken == SYNTAX:
            text = text.replace("select ", "select , ", 1)
        return text

    def _columns(self) -> list[str]:
        casts = dict(self.types)

        def shown(column: str, expression: str) -> str:
            typed = f"cast({expression} as {casts[column]})" if column in casts else expression
            return f"{typed} as {self.returned(column)}"

        value = "no_such_column" if self.broken == UNKNOWN_COLUMN else "c.v"
        columns = [shown("id", "c.id"), shown("k", "c.k"), shown("d", "c.d"), shown("v", self._value(value))]
        if not self.has_k:
            del columns[1]
        columns.append(shown("at", "c.at"))
        if self.has_w:
            columns.append("c.k + 1000 as w")
        if self.strategy == APPLY:
            columns.append("c._change_type" if self.reads_net else "if(c.op = 'D', 'DELETE', 'INSERT') as _change_type")
        return columns

    def _value(self, value: str) -> str:
        if self.operation == "/":
            return f"{value} / {self.operand}"
        if self.place == MACRO:
            return f"{{{{ value_of_{self.name}('{value}') }}}}"
        operand = {VAR: f"{{{{ var('n_{self.name}', 1) }}}}", EPHEMERAL: "e.n"}.get(self.place, str(self.operand))
        return f"{value} {self.operation} {operand}"

    def _from(self) -> str:
        """The part after the columns, in one of many layouts."""
        quote = "'\""[self.noise % 2]
        source = f"source({quote}raw{quote}, {quote}{self.source}{quote})"
        key = f", unique_key={quote}id{quote}" if self.images else ""
        read = f"ip_changelog({source}{key})" if self.reads_net else f"ip_changes({source})"
        left, right = (("{{ ", " }}"), ("{{", "}}"), ("{{- ", " -}}"))[self.noise % 3]
        # a dash removes the white space on its side, so the SQL has a comment there
        before, after = ("/* new */", "/* rows */") if "-" in left else ("", "")
        lines = [f"from {before}{left}{read}{right}{after} as c"]
        if self.place == EPHEMERAL and self.operation != "/":
            lines.append(f"cross join {{{{ ref('n_{self.name}') }}}} as e")
        if self.condition:
            lines.append(f"where c.{self.condition}")
        between = (" ", "\n", "\n    -- so it is\n", "{# and so on #} ", " /* it's */ ")[self.noise % 5]
        return between + between.join(lines)


def valid(spec: Spec) -> Spec:
    """The nearest spec whose configs are compatible."""
    if spec.strategy == APPLY and spec.source not in (MIRROR, LOG):
        spec = replace(spec, strategy=MERGE)
    if spec.strategy == OVERWRITE:
        spec = replace(spec, partitioned=True)
    if not spec.is_keyed:
        spec = replace(spec, sequence=False)
    elif spec.strategy == APPLY:
        spec = replace(spec, sequence=spec.source == LOG)
    if spec.operation == "/":
        spec = replace(spec, place=INLINE)
    elif spec.operation == "+" and spec.place == MACRO:
        spec = replace(spec, operation="*")
    return spec
