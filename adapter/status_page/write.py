"""Writing the status page to a file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from ..status.live import Live
from ..status.project_status import ProjectStatus
from . import page_errors
from .page import page


def write_page(status: ProjectStatus, output: Path, *, refresh: int | None = None, live: Live | None = None) -> None:
    """Write the page in place of a file: a reader sees the old one or the new one, and never a part.

    ``refresh`` and ``live``: as ``page`` takes them. Raises ConfigError where the page cannot be drawn or the file not
    be written.
    """
    text = page(status, refresh=refresh, live=live)
    written = output.with_name(f".{output.name}.{uuid4().hex}")
    try:
        with written.open("x", encoding="utf-8") as file:  # with the permissions of any new file of this process
            file.write(text)
        written.replace(output)
    except OSError as error:
        with suppress(OSError):
            written.unlink(missing_ok=True)
        raise page_errors.page_not_written(output, error) from error
