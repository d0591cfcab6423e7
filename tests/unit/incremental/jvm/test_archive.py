"""When a class data archive can be used, and what happens to old ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from iceberg_incremental.jvm import archive, training
from iceberg_incremental.jvm.archive import Archive, archive_of, refusal
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


def of(java: Java, tmp_path: Path, *options: str, **environment: str) -> Archive | str:
    jar = tmp_path / "a.jar"
    if not jar.exists():
        jar.write_bytes(b"classes")
    command = ["java", "-cp", str(jar), *options, "org.apache.spark.deploy.SparkSubmit", "-XX:+UseNoOption"]
    return archive_of(java, command, environment)


def some(java: Java, tmp_path: Path, *options: str, **environment: str) -> Archive:
    found = of(java, tmp_path, *options, **environment)
    assert isinstance(found, Archive)
    return found


def test_another_jar_or_java_needs_another_archive(java, tmp_path):
    before = some(java, tmp_path).file
    assert some(java, tmp_path).file == before
    os.utime(tmp_path / "a.jar", (1, 1))
    touched = some(java, tmp_path).file
    (java.home / "lib" / "server" / "libjvm.so").write_bytes(b"other code")
    assert len({before, touched, some(java, tmp_path).file}) == 3


def test_an_image_of_a_container_keeps_the_archive(java, tmp_path):
    """Its files have whole seconds."""
    os.utime(tmp_path / some(java, tmp_path).class_path[0], ns=(10**18 + 5, 10**18 + 5))
    before = some(java, tmp_path).file
    os.utime(tmp_path / "a.jar", (10**9, 10**9))
    assert some(java, tmp_path).file == before


def test_other_pointers_need_another_archive(java, tmp_path):
    plain = some(java, tmp_path, "-Xmx1g", "-Dsecret=1", "-XX:StartFlightRecording:filename=mine.jfr")
    assert plain.options == ()
    assert plain.file == some(java, tmp_path).file
    other, varied = some(java, tmp_path, "-XX:+UseZGC"), some(java, tmp_path, JAVA_TOOL_OPTIONS="-Da=b -XX:+UseZGC")
    assert other.options == ("-XX:+UseZGC",)
    assert some(java, tmp_path, "--add-opens=a=b", "-Dio.netty.x=true").options == (
        "--add-opens=a=b",
        "-Dio.netty.x=true",
    )
    assert plain.file not in {other.file, varied.file}


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("-Xmx32g", "the heap has 32 GiB or more"),
        ("-Xshare:off", "the options of Java contain -Xshare:off"),
        ("-XX:SharedArchiveFile=/mine.jsa", "the options of Java contain -XX:SharedArchiveFile=/mine.jsa"),
    ],
)
def test_options_with_which_no_archive_is_used(java, tmp_path, option, reason):
    assert isinstance(of(java, tmp_path, "-Xmx31g"), Archive)
    assert of(java, tmp_path, option) == reason
    assert of(java, tmp_path, JAVA_TOOL_OPTIONS=option) == reason


def test_a_folder_on_the_class_path(java, tmp_path):
    assert (
        archive_of(java, ["java", "-cp", str(tmp_path), "Main"], {}) == f"the class path contains the folder {tmp_path}"
    )


def test_an_archive_that_others_can_write_is_not_used(java, tmp_path):
    found = some(java, tmp_path)
    assert found.hindrance() is None
    assert not found.exists
    found.file.touch(0o644)
    assert found.exists
    found.file.chmod(0o666)
    assert not found.exists
    found.file.chmod(0o644)
    found.file.parent.chmod(0o777)
    assert not found.exists
    assert found.hindrance() == f"other users can write to {found.file.parent}"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can change a file's owner")
def test_an_archive_of_another_user_is_not_used(java, tmp_path, monkeypatch):
    found = some(java, tmp_path)
    assert found.hindrance() is None
    found.file.touch(0o644)
    os.chown(found.file, 12345, 12345)
    assert not found.exists
    os.chown(found.file.parent, 12345, 12345)
    assert found.hindrance() == f"{found.file.parent} belongs to another user"


def test_what_java_logs_about_an_archive(tmp_path):
    log = tmp_path / "archive.log"
    assert refusal(log) is None
    log.write_text("[0.1s][info][cds] optimized module handling: disabled\n")
    assert refusal(log) is None
    for line in ("[0.1s][info][cds] UseSharedSpaces: other", "[0.1s][warning][cds] Unable", "[info] Unable to map"):
        log.write_text(f"[0.1s][info][cds] opened\n{line}\n")
        assert refusal(log) == line


def test_a_user_without_a_home_folder(java, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "user_cache_path", lambda name: Path("~/.cache") / name)
    assert of(java, tmp_path) == "the user has no home folder"


def test_a_cache_that_cannot_be_created(java, tmp_path, cache):
    cache.write_text("a file")
    assert "cannot be created" in str(some(java, tmp_path).hindrance())


def test_a_full_disk(java, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_NEEDED", 1 << 60)
    assert "of free space" in str(some(java, tmp_path).hindrance())


def test_a_failure_is_not_repeated_in_each_run(java, tmp_path):
    found = some(java, tmp_path)
    assert found.hindrance() is None
    assert found.last_failure() is None
    found.failed("Java wrote none")
    assert found.last_failure() == "Java wrote none"
    os.utime(found.file.with_suffix(".failed"), (1, 1))
    assert found.last_failure() is None


def test_only_one_process_makes_an_archive(java, tmp_path):
    found = some(java, tmp_path)
    assert found.hindrance() is None
    with found.alone(wait=True) as first, found.alone(wait=False) as second:
        assert (first, second) == (True, False)
    with found.alone(wait=True) as again:
        assert again


def test_the_remains_of_a_killed_process_are_removed(java, tmp_path):
    """Java cannot run here, so the archive cannot be made. This is noted, and a new attempt is not one of a run."""
    found = some(java, tmp_path)
    assert found.hindrance() is None
    old, new = (found.file.parent / f"training-{name}" for name in ("old", "new"))
    for each in (old, new):
        each.mkdir()
        (each / "made.jsa").write_bytes(b"1234")
    os.utime(old, (1, 1))
    for _ in range(2):
        with pytest.raises(training.CannotMakeError, match="No such file"):
            training.make(found, wait=True)
    assert [each.name for each in found.file.parent.glob("training-*")] == ["training-new"]
    assert "No such file" in str(found.last_failure())


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
