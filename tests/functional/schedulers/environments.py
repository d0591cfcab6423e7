"""The environment of each scheduler. uv creates it from its list in requirements/schedulers, and it is kept."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.compat.install import uv

ROOT = Path(__file__).parents[3]
LISTS = ROOT / "requirements" / "schedulers"


def installed(name: str, *, with_package: bool = False) -> Path:
    """The commands of an environment, as a folder. ``with_package``: whether this checkout is installed there."""
    folder = ROOT / f".venv-{name}"
    versions = (LISTS / f"{name}.txt").read_text(encoding="utf-8")
    stamp = folder / ".installed"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != versions:
        uv("venv", "--clear", "--python", sys.executable, str(folder))
        uv("pip", "install", "--python", str(folder), "--requirement", str(LISTS / f"{name}.txt"))
        if with_package:
            uv("pip", "install", "--python", str(folder), "--no-deps", "--editable", str(ROOT))
        stamp.write_text(versions, encoding="utf-8")
    return folder / "bin"
