"""Locations on the local disk."""

from __future__ import annotations

import pytest

from iceberg_incremental.metadata.files import local_path, read_bytes


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/data/a b.json", "/data/a b.json"),
        ("file:/data/50%.json", "/data/50%.json"),
        ("file:///data/a#b?c.json", "/data/a#b?c.json"),
        ("s3://bucket/a.json", None),
    ],
)
def test_local_paths(location, path):
    assert local_path(location) == path


def test_a_local_file_needs_no_file_io(tmp_path):
    (tmp_path / "a%20b.json").write_bytes(b"content")
    assert read_bytes(f"file:{tmp_path}/a%20b.json", {}) == b"content"
