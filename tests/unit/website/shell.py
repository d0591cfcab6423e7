"""Checks the commands of shell scripts. Commands of this project and of dbt are checked by their own parsers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import metadata
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from zipfile import ZipFile

import click
import pyspark
from dbt.cli.main import cli as dbt
from packaging.requirements import Requirement

from dbt.adapters.spark_iceberg.profile.lakehouse import RUNTIMES
from dbt.adapters.spark_iceberg.watch.command_line import cli as adapter
from iceberg_incremental.command.command_line import parsed
from website.reference import _signature

ROOT = Path(__file__).parents[3]
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*$|^\$ ", re.MULTILINE)
_HEREDOC = re.compile(r"<<'(\w+)'\n.*?^\1$", re.DOTALL | re.MULTILINE)
_INNER = re.compile(r"\$\((?P<inner>[^()]*)\)")
_ENDS = ";()<>|&\n"
_SKIPPED = re.compile(r"if|then|fi|do|case|in|esac|\$\S*|\d+|\*|\w+=.*")
_RUNTIME = re.compile(r"org\.apache\.iceberg:iceberg-spark-runtime-(?P<spark>[\d.]+)_2\.13:(?P<iceberg>[\d.]+)")


def commands(script: str) -> Iterator[list[str]]:
    """The commands of a script, including those in `$(…)`. Redirections, variables and comments are removed."""
    text = _COMMENT.sub("", _HEREDOC.sub("", script).replace("\\\n", " "))
    lexer = shlex.shlex(text, posix=True, punctuation_chars=_ENDS)
    lexer.whitespace_split, lexer.whitespace, lexer.commenters = True, " \t", ""
    found: list[str] = []
    before = ""
    for word in lexer:
        if set(word) <= set(_ENDS):
            yield from _command(found)
            found = []
        elif before[-1:] not in {"<", ">"}:  # otherwise the word is the file of a redirection
            yield from (inner for each in _INNER.finditer(word) for inner in commands(each["inner"]))
            found.append(word)
        before = word
    yield from _command(found)


def _command(words: Sequence[str]) -> Iterator[list[str]]:
    at = 0
    while at < len(words) and words[at] not in _READERS and _SKIPPED.fullmatch(words[at]):
        at += 1
    if at < len(words):
        yield [*words[at:]]


def read(words: Sequence[str]) -> None:
    """Check the arguments of a command. Raises KeyError for a program that no test can check."""
    _READERS[Path(words[0]).name](words[1:])


def accept(group: click.Group, words: Sequence[str]) -> dict[str, object]:
    """Parse the parameters of a command. Raises click.UsageError for unknown or invalid arguments."""
    context = group.make_context("", list(words), resilient_parsing=False)
    name, command, rest = group.resolve_command(context, [*context._protected_args, *context.args])
    assert command is not None
    return command.make_context(name, rest, parent=context).params


def _dbt(words: Sequence[str]) -> None:
    given = accept(dbt, words)
    operation = given.get("macro")
    if isinstance(operation, str) and operation.startswith("ip_"):
        known = {each.partition("=")[0].strip() for each in _signature(operation).split(",")}
        assert set(given["args"] or ()) <= known  # type: ignore[call-overload]


def _make(words: Sequence[str]) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {word for word in words if "=" not in word} <= set(targets)


def _pip(words: Sequence[str]) -> None:
    """Check that the extras of this package exist. Other packages are not checked."""
    offered = {each.lower() for each in metadata("dbt-spark-iceberg").get_all("Provides-Extra") or ()}
    assert words[0] == "install"
    packages = [word for option, word in pairwise(words) if not word.startswith("-") and option != "-r"]
    for word in packages:
        package = Requirement(word.replace(".[", "dbt-spark-iceberg[") if word.startswith(".") else word)
        assert package.name != "dbt-spark-iceberg" or {each.lower() for each in package.extras} <= offered


def _pytest(words: Sequence[str]) -> None:
    assert all((ROOT / word.partition("::")[0]).exists() for word in words if word.startswith("tests/"))


def _python(words: Sequence[str]) -> None:
    option, text = words[:2]
    if option == "-m":
        assert find_spec(text) is not None
    elif option == "-c":
        compile(text, "<page>", "exec")
    else:
        assert option == "job.py"  # the file on the same page


def _shell(words: Sequence[str]) -> None:
    assert words[0] == "-c"
    for command in commands(words[1]):
        read(command)


def _spark(words: Sequence[str]) -> None:
    """Check the options of Spark's scripts: settings, classes in Spark's jars, and the tested Iceberg runtime."""
    for option, value in pairwise(words):
        if option == "--conf":
            assert re.fullmatch(r"spark\.[\w.]+=\S+", value)
        if option == "--class":
            entry = f"{value.replace('.', '/')}.class"
            jars = (Path(pyspark.__file__).parent / "jars").glob("spark-*.jar")
            assert any(entry in ZipFile(jar).namelist() for jar in jars)
        for runtime in _RUNTIME.finditer(value):
            assert RUNTIMES[runtime["spark"]] == runtime["iceberg"]


def _any(words: Sequence[str]) -> None:
    """Accept all arguments of a command that is not checked."""


_READERS: Mapping[str, Callable[[Sequence[str]], object]] = {
    "dbt": _dbt,
    "dbt-spark-iceberg": lambda words: accept(adapter, words),
    "iceberg-incremental": parsed,
    "make": _make,
    "pip": _pip,
    "pytest": _pytest,
    **dict.fromkeys(("python", "python3"), _python),
    "sh": _shell,
    "flock": lambda words: read(words[2:]),
    **dict.fromkeys(("spark-submit", "start-connect-server.sh", "start-thriftserver.sh"), _spark),
    **dict.fromkeys(("start-master.sh", "start-worker.sh", "fetch-prod-artifacts"), _any),
    **dict.fromkeys(("cat", "cd", "exit", "export", "mkdir", "mktemp", "printf", "source", "test", "xargs"), _any),
}
