"""The lock files and digests of their inputs, which ``python -m tests.compat.locks`` writes at the end of `make lock`.

A lock file ends with a digest of its inputs and its lines, so that a test detects later changes without a network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from .environments import ROOT

REQUIREMENTS = ROOT / "requirements"
_MAKEFILE = ROOT / "Makefile"
_PACKAGE = re.compile(
    r"^requires-python.*?$|^dependencies = \[.*?(?=^\[(?!project\.optional))", re.DOTALL | re.MULTILINE
)
_VARIABLE = re.compile(r"^(\w+) := ((?:.*\\\n)*.*)$", re.MULTILINE)
_STAMP = re.compile(r"^# made from (\w+)\n", re.MULTILINE)


@dataclass(frozen=True)
class Lock:
    """A lock file. ``inputs``: its requirement lists; ``has_package``: whether the package's metadata is an input."""

    name: str
    inputs: tuple[str, ...]
    has_package: bool

    @property
    def file(self) -> Path:
        """The path of the lock file."""
        return REQUIREMENTS / self.name

    @property
    def stamp(self) -> str | None:
        """The digest in the file, or None."""
        found = _STAMP.search(self.file.read_text(encoding="utf-8"))
        return found[1] if found else None

    @property
    def present_stamp(self) -> str:
        """The digest of the current inputs and of the file's lines."""
        pinned = _STAMP.sub("", self.file.read_text(encoding="utf-8"))
        return sha256("\n".join((*_made_from(self), pinned)).encode()).hexdigest()[:16]


def locks() -> list[Lock]:
    """The lock files that `make lock` creates."""
    found = []
    for command in _commands():
        (name,) = re.findall(r"-o requirements/(\S+)", command)
        inputs = tuple(re.findall(r"(?<!-o )requirements/(\S+\.in)", command))
        found.append(Lock(name, inputs, "pyproject.toml" in command))
    return found


def stamp(lock: Lock) -> None:
    """Write the digest of a lock file's inputs and lines to its end."""
    text = _STAMP.sub("", lock.file.read_text(encoding="utf-8"))
    lock.file.write_text(f"{text}# made from {lock.present_stamp}\n", encoding="utf-8")


def _made_from(lock: Lock) -> Iterator[str]:
    """The command that creates a lock file, and the lines of its inputs without comments."""
    (command,) = (each for each in _commands() if f"-o requirements/{lock.name} " in f"{each} ")
    yield command
    texts = [(REQUIREMENTS / name).read_text(encoding="utf-8") for name in lock.inputs]
    if lock.has_package:
        texts += _PACKAGE.findall((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for line in "\n".join(texts).splitlines():
        if content := re.sub(r"(?:^| +)#.*", "", line).strip():
            yield content


def _commands() -> list[str]:
    """The commands of `make lock` that create a file, with their variables replaced."""
    makefile = _MAKEFILE.read_text(encoding="utf-8")
    variables = dict(_VARIABLE.findall(makefile))
    (recipe,) = re.findall(r"^lock:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    commands = [line.strip() for line in recipe.splitlines() if " -o " in line]
    for name in ("LOCK", "SCHEDULERS", "ENGINES_LOCK"):
        commands = [each.replace(f"$({name})", variables[name]) for each in commands]
    return commands


def main() -> None:
    for lock in locks():
        stamp(lock)


if __name__ == "__main__":
    main()
