"""A full disk with the tables or with the SQLite catalog. As with other faults, no row is lost or duplicated."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .conftest import Projects
from .pipeline import Pipeline


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount a file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def filled(disk: Path, left: int) -> Iterator[None]:
    """Leave only this many bytes free on the disk within this block."""
    ballast = disk / "ballast"
    found = os.statvfs(disk)
    ballast.write_bytes(bytes(max(found.f_bavail * found.f_frsize - left, 0)))
    try:
        yield
    finally:
        ballast.unlink()


@pytest.mark.thorough
@pytest.mark.parametrize("full", ["lake", "catalog"])
def test_runs_that_fill_the_disk(projects: Projects, small_disk: Path, tmp_path: Path, full: str):
    folders = {name: small_disk if name == full else tmp_path for name in ("lake", "catalog")}
    settings = {
        "type": "jdbc",
        "uri": f"jdbc:sqlite:file:{folders['catalog']}/catalog.db",
        "jdbc.schema-version": "V1",
        "warehouse": f"{folders['lake']}/lake",
    }
    pipeline = Pipeline(projects.shop(f"full_{full}", settings))

    for left in (0, 40_000, 200_000, 500_000) if full == "lake" else (0,):
        failed = pipeline.struck(filled(small_disk, left))
        assert failed or left
        assert all("full" in message for message in failed.values()), failed
        pipeline.finish()
