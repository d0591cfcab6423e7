"""The files of a table's current snapshot that maintenance uses: data files, delete files and manifests."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from enum import Enum


class Content(str, Enum):
    """The kind of content of a file."""

    DATA = "data"
    POSITION_DELETES = "position deletes"
    DELETION_VECTOR = "deletion vector"
    EQUALITY_DELETES = "equality deletes"


@dataclass(frozen=True)
class LiveFile:
    """A file of a table's current snapshot.

    ``partition``: equal for files of the same partition and spec. ``size``: in bytes. For a deletion vector, the size
    of the file that it shares with other vectors. ``of``: the data file whose rows it deletes; None if there may be
    several. ``manifest``: the manifest that lists it; None if the reader cannot know it.
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
    """A manifest of live files: its partition spec, its size in bytes, and whether it lists delete files."""

    spec_id: int
    size: int
    lists_deletes: bool


@dataclass(frozen=True)
class LiveFiles:
    """All files of a table's current snapshot. ``spec_id``: the partition spec of new files."""

    files: tuple[LiveFile, ...]
    manifests: Mapping[str, ManifestSize]
    spec_id: int

    @property
    def data(self) -> tuple[LiveFile, ...]:
        """The data files."""
        return tuple(file for file in self.files if file.content is Content.DATA)

    @property
    def deletes(self) -> tuple[LiveFile, ...]:
        """The delete files of each kind, including deletion vectors."""
        return tuple(file for file in self.files if file.content is not Content.DATA)
