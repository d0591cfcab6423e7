"""When a class data archive can be used, and what happens to old ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from iceberg_incremental.jvm import archive
from iceberg_incremental.jvm.archive import Archive, archive_of
from iceberg_incremental.jvm.java import Java


@pytest.fixture
def java(tmp_path) -> Java:
    home = tmp_path / "java"
    (home / "lib" / "server").mkdir(parents=True)
    (home / "release").write_text('JAVA_VERSION="17.0.1"\n')
    (home / "lib" / "server" / "libjvm.so").write_bytes(b"code")
    (home / "lib" / "server" / "classes.jsa").touch()
    return Java(home, 17, "PATH", frozenset())


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def of(java: Java, tmp_path: Path, *options: str) -> Archive | None:
    jar = tmp_path / "a.jar"
    if not jar.exists():
        jar.write_bytes(b"classes")
    return archive_of(java, ["java", *options, "-cp", str(jar), "Main"])


def some(java: Java, tmp_path: Path) -> Archive:
    found = of(java, tmp_path)
    assert found is not None
    return found


def test_another_jar_or_java_needs_another_archive(java, tmp_path):
    before = some(java, tmp_path).file
    assert some(java, tmp_path).file == before
    os.utime(tmp_path / "a.jar", (1, 1))
    touched = some(java, tmp_path).file
    (java.home / "lib" / "server" / "libjvm.so").write_bytes(b"other code")
    assert len({before, touched, some(java, tmp_path).file}) == 3


@pytest.mark.parametrize("option", ["-Xmx32g", "-Xshare:off", "-XX:SharedArchiveFile=/mine.jsa"])
def test_options_with_which_no_archive_is_used(java, tmp_path, option):
    assert of(java, tmp_path, "-Xmx31g") is not None
    assert of(java, tmp_path, option) is None


def test_a_folder_on_the_class_path(java, tmp_path):
    assert archive_of(java, ["java", "-cp", str(tmp_path), "Main"]) is None


def test_an_archive_that_others_can_write_is_not_used(java, tmp_path):
    found = some(java, tmp_path)
    assert found.hindrance() is None
    found.file.touch(0o644)
    assert found.exists
    found.file.chmod(0o666)
    assert not found.exists
    found.file.chmod(0o644)
    found.file.parent.chmod(0o777)
    assert not found.exists


def test_a_user_without_a_home_folder(java, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "user_cache_path", lambda name: Path("~/.cache") / name)
    assert of(java, tmp_path) is None


def test_a_cache_that_cannot_be_created(java, tmp_path, cache):
    cache.write_text("a file")
    assert "cannot be created" in str(some(java, tmp_path).hindrance())


def test_a_full_disk(java, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_NEEDED", 1 << 60)
    assert "of free space" in str(some(java, tmp_path).hindrance())


def test_a_failure_is_not_repeated_in_each_run(java, tmp_path):
    found = some(java, tmp_path)
    assert found.hindrance() is None
    found.failed("Java wrote none")
    assert found.hindrance() == "Java wrote none"
    os.utime(found.file.with_suffix(".failed"), (1, 1))
    assert found.hindrance() is None


def test_only_one_process_makes_an_archive(java, tmp_path):
    found = some(java, tmp_path)
    assert found.hindrance() is None
    with found.alone() as first, found.alone() as second:
        assert (first, second) == (True, False)
    with found.alone() as again:
        assert again


def test_archives_that_were_not_used_for_long_are_removed(java, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_KEPT", 10)
    found = some(java, tmp_path)
    assert found.hindrance() is None
    folder = found.file.parent
    for age, name in enumerate(("recent.jsa", "older.jsa", "oldest.jsa")):
        (folder / name).write_bytes(b"1234")
        os.utime(folder / name, (1000 - age, 1000 - age))
    made = folder / "made"
    made.write_bytes(b"12")
    found.publish(made)
    assert sorted(each.name for each in folder.glob("*.jsa")) == sorted([found.file.name, "older.jsa", "recent.jsa"])


def test_a_java_without_an_archive_of_its_own_gets_one(java, tmp_path):
    assert some(java, tmp_path).base is None
    (java.home / "lib" / "server" / "classes.jsa").unlink()
    found = some(java, tmp_path)
    assert found.base is not None
    assert found.in_making(Path("x"))[0] == f"-XX:SharedArchiveFile={found.base}"
