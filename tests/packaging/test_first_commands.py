"""The README's commands as written, which `make readme` runs as a new user does: with nothing installed for them.

Not run here: the first block, `make demo` and `make test`, which `.ci/run` calls.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"^```bash\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
PATIENCE = 3600
"""The timeout in seconds, long enough to download PySpark and to start Spark several times on a busy machine."""

pytestmark = pytest.mark.nightly


def copy_checkout(to: Path) -> None:
    """Copy the files that Git would commit, because an installation writes to the checkout."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        source, copied = ROOT / name, to / name
        if os.path.lexists(source):  # not deleted since the last commit
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copied, follow_symlinks=False)


def test_the_commands_in_an_empty_home_folder(tmp_path: Path) -> None:
    checkout, home = tmp_path / "checkout", tmp_path / "home"
    copy_checkout(checkout)
    home.mkdir()
    ours = ("DBT_", "PYTHON", "SPARK", "UV_", "VIRTUAL_ENV", "XDG_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    folders = [each for each in kept["PATH"].split(os.pathsep) if Path(each) != Path(sys.executable).parent]

    done = subprocess.run(
        ["bash", "-euc", "\n".join(BLOCKS[1:])],
        cwd=checkout,
        env={**kept, "HOME": str(home), "PATH": os.pathsep.join(folders)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("OK 1,000 rows") == 2
    assert "pending (append): 1 snapshot, " in done.stdout
    assert "NOTHING NEW" in done.stdout
    assert (home / "dbt" / "bin" / "dbt").exists()
