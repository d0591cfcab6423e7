"""The cases: the layout of a table that is merged into, its changes in a round, and its writer."""

from __future__ import annotations

from dataclasses import dataclass, replace

_MODES = {"mor": "merge-on-read", "cow": "copy-on-write"}
LAYOUTS = ("v3-mor", "v3-cow", "v2-mor", "v2-cow")
DEFAULT_LAYOUT = "v3-mor"
"""The layout of the tables that this package's models with a key create."""

SCATTERED, STRETCH = "scattered", "stretch"
SPREADS = (SCATTERED, STRETCH)

MERGE, APPLY_CHANGES, FOREIGN = "merge", "apply_changes", "foreign"
WRITERS = (MERGE, APPLY_CHANGES, FOREIGN)


def properties(layout: str) -> dict[str, str]:
    """The table properties of a layout."""
    version, _, mode = layout.partition("-")
    modes = {f"write.{statement}.mode": _MODES[mode] for statement in ("delete", "update", "merge")}
    return {"format-version": version.removeprefix("v"), **modes}


def layout_title(layout: str) -> str:
    """The description of a layout."""
    version, _, mode = layout.partition("-")
    return f"{version} {_MODES[mode]}"


@dataclass(frozen=True)
class Case:
    """In each round, ``percent`` of the rows are updated, a tenth as many deleted, and a tenth as many inserted.

    ``compacted``: whether all files of the table are rewritten in each round, after its rows have changed. ``by_sql``:
    whether the models use the statements for a Spark server, instead of those for a Spark in the same process.
    """

    layout: str = DEFAULT_LAYOUT
    spread: str = SCATTERED
    percent: float = 0.5
    writer: str = MERGE
    compacted: bool = False
    by_sql: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether only the spread may differ from the default."""
        return replace(self, spread=SCATTERED) == Case()

    @property
    def title(self) -> str:
        """The description of the case."""
        written = {
            MERGE: "",
            APPLY_CHANGES: ", written by `apply_changes`",
            FOREIGN: ", written by a plain MERGE",
        }[self.writer]
        compacted = ", compacted in every range" if self.compacted else ""
        spread = "one range of keys" if self.spread == STRETCH else self.spread
        by_sql = ", through a server" if self.by_sql else ""
        return f"{layout_title(self.layout)}, {self.percent:g}% {spread}{written}{compacted}{by_sql}"

    @property
    def name(self) -> str:
        """The name of the case in the figures."""
        flags = ("compacted" if self.compacted else "", "by_sql" if self.by_sql else "")
        parts = [self.layout, self.spread, f"{self.percent:g}", self.writer, *flags]
        return ".".join(part for part in parts if part)


WARM_UP_ROUNDS = 2
"""The number of rounds before the measured ones. The second is the first with delete files, which change plans."""


@dataclass(frozen=True)
class Sizes:
    """The numbers of the table's rows and files, and of the measured rounds.

    ``other_rounds``: the number of rounds for all cases except the plain ones.
    """

    rows: int = 4_000_000
    files: int = 64
    rounds: int = 2
    other_rounds: int = 1

    def rounds_of(self, case: Case) -> int:
        """The number of measured rounds of a case."""
        return self.rounds if case.is_plain else self.other_rounds


PLAIN = Case()
LAYOUT_CASES = tuple(Case(layout, spread) for layout in LAYOUTS for spread in SPREADS)
PERCENT_CASES = tuple(Case(spread=spread, percent=percent) for spread in SPREADS for percent in (0.1, 0.5, 5.0))
WRITER_CASES = (
    PLAIN,
    replace(PLAIN, writer=FOREIGN),
    replace(PLAIN, compacted=True),
    Case("v2-mor"),
    Case("v2-mor", compacted=True),
)
CONNECTION_CASES = tuple(
    replace(case, by_sql=by_sql) for case in (PLAIN, Case(spread=STRETCH), Case("v3-cow")) for by_sql in (False, True)
)
ALL_CASES = tuple(dict.fromkeys((*LAYOUT_CASES, *PERCENT_CASES, *WRITER_CASES, *CONNECTION_CASES)))
"""The cases of the full run. Some of them are in several result tables."""
