"""Where the dbt project is, at which the relative paths of a profile start."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def project_folder(config: Any) -> Path:
    """The absolute path of the dbt project's folder. `dbt debug` passes a profile, which does not know it."""
    from dbt.flags import get_flags

    root = getattr(config, "project_root", None) or getattr(get_flags(), "PROJECT_DIR", None)
    # As the working directory has it when dbt is started in the project: without links, and without `..`.
    return Path(root or ".").resolve()
