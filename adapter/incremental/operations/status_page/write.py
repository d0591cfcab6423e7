"""Writing the status page to a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ...explain import operation_errors
from ..live import Live
from ..project_status import ProjectStatus
from .page import page


def write_page(status: ProjectStatus, output: Path, *, refresh: int | None = None, live: Live | None = None) -> None:
    """Write the page in place of a file: a reader sees the old one or the new one, and never a part.

    ``refresh`` and ``live``: as ``page`` takes them. Raises ConfigError where the page cannot be drawn or the file not
    be written.
    """
    text = page(status, refresh=refresh, live=live)
    written: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=output.parent, prefix=f".{output.name}.", delete=False
        ) as file:
            written = Path(file.name)
            file.write(text)
        written.chmod(0o666 & ~_umask())
        written.replace(output)
    except OSError as error:
        if written is not None:
            written.unlink(missing_ok=True)
        raise operation_errors.page_not_written(output, error) from error


def _umask() -> int:
    """The process's mask of permissions, which a temporary file is made without."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
