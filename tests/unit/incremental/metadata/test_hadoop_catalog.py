"""Finding a table's newest metadata file in a hadoop catalog."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from iceberg_incremental.errors import MetadataAccessError
from iceberg_incremental.table.history import TableName
from tests.unit.incremental.metadata.catalogs import TABLE, metadata, reader_of


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], None]:
    folder = tmp_path / "ops" / "flights" / "metadata"
    folder.mkdir(parents=True)

    def write_file(name: str, content: str) -> None:
        (folder / name).write_text(content)

    return write_file


@pytest.mark.parametrize("hint", ["1", "2", "3\n", None])
@pytest.mark.parametrize("suffix", [".metadata.json", ".gz.metadata.json", ".metadata.json.gz"])
def test_the_search_for_the_newest_version_starts_at_the_hint(
    write: Callable[[str, str], None], tmp_path: Path, hint: str | None, suffix: str
):
    for version in (1, 2, 3):
        write(f"v{version}{suffix}", metadata(snapshots=version))
    if hint is not None:
        write("version-hint.text", hint)

    history = reader_of(type="hadoop", warehouse=str(tmp_path)).load(TABLE)

    assert history is not None
    assert history.current_snapshot_id == 3


def test_without_a_hint_and_the_first_versions(write: Callable[[str, str], None], tmp_path: Path):
    for version in (9, 10):
        write(f"v{version}.metadata.json", metadata(snapshots=version))

    history = reader_of(type="hadoop", warehouse=f"file://{tmp_path}/").load(TABLE)

    assert history is not None
    assert history.current_snapshot_id == 10


def test_without_the_table(tmp_path: Path):
    assert reader_of(type="hadoop", warehouse=str(tmp_path)).load(TABLE) is None


def test_without_the_warehouse(tmp_path: Path):
    with pytest.raises(MetadataAccessError, match="no such folder"):
        reader_of(type="hadoop", warehouse=str(tmp_path / "elsewhere")).load(TABLE)


@pytest.mark.parametrize("suffix", [".metadata.json", ".gz.metadata.json"])
def test_the_location_of_the_newest_version(write: Callable[[str, str], None], tmp_path: Path, suffix: str):
    for version in (1, 2):
        write(f"v{version}{suffix}", "not read")
    write("version-hint.text", "1")
    reader = reader_of(type="hadoop", warehouse=str(tmp_path))
    missing = TableName(TABLE.catalog, TABLE.namespace, "missing")

    assert reader.locations([TABLE, missing]) == {TABLE: f"{tmp_path}/ops/flights/metadata/v2{suffix}"}
