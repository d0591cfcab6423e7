"""The wheel and the sdist contain all files, and dbt finds the macros in them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest
from readme_renderer import markdown

pytestmark = pytest.mark.core

ROOT = Path(__file__).parents[2]
ENGINE = "iceberg_incremental"
ADAPTER = "dbt/adapters/spark_iceberg"
INCLUDE = "dbt/include/spark_iceberg"
DBTS_OWN = {"dbt/__init__.py", "dbt/adapters/__init__.py", "dbt/include/__init__.py"}

PROJECT = {
    "dbt_project.yml": """
name: shop
version: "1.0"
profile: shop
models:
  shop:
    +materialized: iceberg_incremental_snapshot
flags:
  send_anonymous_usage_stats: false
""",
    "profiles.yml": """
shop:
  target: dev
  outputs:
    dev: {type: spark_iceberg, method: session, warehouse: ./lakehouse, schema: analytics}
""",
    "models/sources.yml": """
sources:
  - name: ops
    tables:
      - name: flights
""",
    "models/flights.sql": "select * from {{ ip_changes(source('ops', 'flights')) }}",
    "models/carriers.sql": "select distinct carrier from {{ ip_changes(ref('flights')) }}",
}


def files_below(folder: Path) -> set[str]:
    """The paths of all files in a folder, relative to it, without caches."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def shipped() -> set[str]:
    """The installed path of each file that the wheel must contain, regardless of the file's type."""
    own = {f"{INCLUDE}/{path.name}" for path in (ROOT / INCLUDE).iterdir() if path.is_file()}
    return (
        own
        | {f"{ENGINE}/{path}" for path in files_below(ROOT / ENGINE)}
        | {f"{ADAPTER}/{path}" for path in files_below(ROOT / "adapter")}
        | {f"{INCLUDE}/macros/{path}" for path in files_below(ROOT / "macros")}
    )


def build(kind: str, source: Path, target: Path) -> Path:
    """Build one artifact with the installed setuptools, which needs no network."""
    command = [sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", str(target), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (artifact,) = target.iterdir()
    return artifact


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the files for the build, including symbolic links, so that builds do not change the repository."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in ("setup.py", "pyproject.toml", "MANIFEST.in", "LICENSE", *(path.name for path in ROOT.glob("*.md"))):
        shutil.copy(ROOT / name, copy)
    for name in (ENGINE, "adapter", "dbt", "macros", "docs"):
        shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", checkout, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", checkout, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel_of_sdist(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    (source,) = unpacked.iterdir()
    return build("wheel", source, tmp_path_factory.mktemp("wheel_of_sdist"))


def contents(wheel: Path) -> set[str]:
    """A wheel's files, without its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not PurePosixPath(name).parts[0].endswith(".dist-info")}


def test_the_wheel_contains_exactly_the_package_files(wheel: Path) -> None:
    assert contents(wheel) == shipped()
    assert not contents(wheel) & DBTS_OWN


def metadata_of(wheel: Path) -> str:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return archive.read(name).decode()


def test_the_description_has_no_relative_links(wheel: Path) -> None:
    """A package index does not have the files to which such links point."""
    description = metadata_of(wheel).partition("\n\n")[2]
    html = markdown.render(description)
    assert html is not None and re.search(r"<h2[^>]*>A first project", html)
    assert re.findall(r'(?:href|src)="(?!https?:|#)[^"]*"', html) == []


def test_the_wheel_names_its_license_and_extras(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert any(name.endswith(".dist-info/licenses/LICENSE") for name in archive.namelist())
    metadata = metadata_of(wheel)
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Python: >=3.10" in metadata
    assert {line.split()[1] for line in metadata.splitlines() if line.startswith("Provides-Extra")} == {
        "session", "connect", "pyhive", "odbc", "catalogs",
    }  # fmt: skip


def test_the_sdist_contains_every_file(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {PurePosixPath(*PurePosixPath(m.name).parts[1:]).as_posix() for m in archive if m.isfile()}
    for folder in (ENGINE, "adapter", "macros", "docs"):
        assert {f"{folder}/{path}" for path in files_below(ROOT / folder)} <= names
    assert not names & DBTS_OWN


def test_a_wheel_built_from_the_sdist_is_the_same(wheel: Path, wheel_of_sdist: Path) -> None:
    assert contents(wheel_of_sdist) == contents(wheel)


@pytest.fixture(scope="module")
def fresh_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python in a new environment with the wheel and the packages installed here, except the editable install."""
    home = tmp_path_factory.mktemp("fresh") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    python = home / "bin" / "python"
    install = ["--no-deps", "--no-index", "--offline", "--quiet", str(wheel)]
    subprocess.run([sys.executable, "-m", "uv", "pip", "install", "--python", python, *install], check=True)
    # Python searches the folder but ignores the .pth files in it, and the editable install is such a .pth file.
    (site_packages,) = home.glob("lib/python*/site-packages")
    (site_packages / "locked.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return python


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in PROJECT.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.lstrip(), encoding="utf-8")
    return tmp_path


def run_dbt(python: Path | str, project: Path, *args: str) -> None:
    """Run dbt without Java, because parsing must not start Spark."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("DBT_", "PYTHON"))}
    environment |= {"PATH": "/nonexistent", "JAVA_HOME": "/nonexistent", "DBT_PROFILES_DIR": str(project)}
    command = [str(python), "-c", "from dbt.cli.main import cli; cli()", *args]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def assert_parsed_with_our_macros(project: Path) -> None:
    manifest = json.loads((project / "target" / "manifest.json").read_text(encoding="utf-8"))
    ours = [macro for macro in manifest["macros"].values() if macro["package_name"] == "dbt_spark_iceberg"]
    in_repository = {f"macros/{path}" for path in files_below(ROOT / "macros") if path.endswith(".sql")}
    assert {macro["original_file_path"] for macro in ours} == in_repository
    assert any(macro["name"].startswith("materialization_iceberg_incremental_snapshot") for macro in ours)

    flights, carriers = manifest["nodes"]["model.shop.flights"], manifest["nodes"]["model.shop.carriers"]
    assert flights["depends_on"]["nodes"] == ["source.shop.ops.flights"]
    assert carriers["depends_on"]["nodes"] == ["model.shop.flights"]
    assert "macro.dbt_spark_iceberg.ip_changes" in flights["depends_on"]["macros"]
    assert not (project / "lakehouse").exists()


def test_dbt_parses_with_the_wheel_in_a_fresh_environment(fresh_python: Path, project: Path) -> None:
    where = (
        "import dbt.adapters.spark_iceberg as a, dbt.include.spark_iceberg as i; print(a.__file__); print(i.__file__)"
    )
    done = subprocess.run([fresh_python, "-c", where], cwd=project, capture_output=True, text=True, check=True)
    assert all(Path(line).is_relative_to(fresh_python.parents[1]) for line in done.stdout.split()), done.stdout

    run_dbt(fresh_python, project, "parse")
    assert_parsed_with_our_macros(project)


def test_the_wheel_explains_errors(fresh_python: Path, tmp_path: Path) -> None:
    command = [str(fresh_python.parent / "dbt-spark-iceberg"), "explain", "rewritten"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("rewritten (RewriteError)")


def test_dbt_parses_with_the_editable_install(project: Path) -> None:
    run_dbt(sys.executable, project, "parse")
    assert_parsed_with_our_macros(project)


def test_a_checkout_without_symbolic_links_is_an_error(checkout: Path, tmp_path: Path) -> None:
    copy = tmp_path / "spark_iceberg"
    shutil.copytree(checkout / INCLUDE, copy, symlinks=True)
    assert (copy / "macros").is_symlink()
    (copy / "macros").unlink()
    (copy / "macros").write_text("../../../macros", encoding="utf-8")  # as git without symbolic links
    done = subprocess.run([sys.executable, copy / "__init__.py"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "dbt-spark-iceberg has no macros" in done.stderr
