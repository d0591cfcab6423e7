"""The environments of other programs. uv creates each from its list in requirements/, and it is kept."""

from __future__ import annotations

import fcntl
import sys
from pathlib import Path

from tests.compat.install import uv

ROOT = Path(__file__).parents[2]


def installed(name: str, *, group: str = "schedulers", with_package: bool = False) -> Path:
    """The commands of an environment, as a folder. ``group``: the folder of its list in requirements/.

    ``with_package``: whether this checkout is installed there.
    """
    folder = ROOT / f".venv-{group}-{name}"
    listed = ROOT / "requirements" / group / f"{name}.txt"
    stamp = folder / ".installed"
    with listed.open(encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the tests run in two processes
        versions = lock.read()
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != versions:
            uv("venv", "--clear", "--python", sys.executable, str(folder))
            uv("pip", "install", "--python", str(folder), "--requirement", str(listed))
            if with_package:
                uv("pip", "install", "--python", str(folder), "--no-deps", "--editable", str(ROOT))
            stamp.write_text(versions, encoding="utf-8")
    return folder / "bin"
