"""The files of a table at its head, as maintenance sees them: data files, delete files, and manifests."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from enum import Enum


class Content(str, Enum):
    """What a file holds."""

    DATA = "data"
    POSITION_DELETES = "position deletes"
    DELETION_VECTOR = "deletion vector"
    EQUALITY_DELETES = "equality deletes"


@dataclass(frozen=True)
class LiveFile:
    """A file that a table's head lists.

    ``partition``: equal for the files of one partition, of one spec. ``size`` in bytes; of a deletion vector that of
    the file that it shares with others. ``of``: the one data file whose rows it deletes, None where it may be several.
    ``manifest``: what lists it; None where the reader cannot know it.
    """

    content: Content
    path: str
    spec_id: int
    partition: Hashable
    records: int
    size: int
    of: str | None = None
    manifest: str | None = None


@dataclass(frozen=True)
class ManifestSize:
    """A manifest that lists live files: its partition spec, its size in bytes, and whether it lists delete files."""

    spec_id: int
    size: int
    lists_deletes: bool


@dataclass(frozen=True)
class LiveFiles:
    """All files of a table's head. ``spec_id``: of the partition spec in which new files are written."""

    files: tuple[LiveFile, ...]
    manifests: Mapping[str, ManifestSize]
    spec_id: int

    @property
    def data(self) -> tuple[LiveFile, ...]:
        """The data files."""
        return tuple(file for file in self.files if file.content is Content.DATA)

    @property
    def deletes(self) -> tuple[LiveFile, ...]:
        """The delete files of each kind, and deletion vectors."""
        return tuple(file for file in self.files if file.content is not Content.DATA)
