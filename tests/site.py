"""The documentation site, as ``make docs`` builds it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[1]


def build_site(folder: Path) -> Path:
    """Build the site in a folder. With ``--strict``, broken links and anchors are errors.

    ``--quiet`` would hide these warnings from ``--strict``.
    """
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", "website/mkdocs.yml"]
    proxy = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")  # no server listens there
    done = subprocess.run(
        [*command, "--site-dir", str(folder)],
        cwd=_ROOT,
        env={**os.environ, **proxy, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder
