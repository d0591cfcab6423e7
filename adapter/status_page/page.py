"""The status page as text: one file, with the style, the scripts and the data in it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..status.live import Live
from ..status.project_status import ProjectStatus
from . import page_errors
from .view import view_of

_HERE = Path(__file__).parent


def write_page(status: ProjectStatus, output: Path, *, refresh: int | None = None, live: Live | None = None) -> None:
    """Write the page in place of a file: a reader sees the old one or the new one, and never a part.

    Raises ConfigError where the page cannot be drawn or the file not be written.
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


def page(status: ProjectStatus, *, refresh: int | None = None, live: Live | None = None) -> str:
    """The page of a project's status. ``refresh``: after how many seconds a browser loads it again, None for never.

    ``live``: what ``watch`` is doing, where it writes the page.
    Raises ConfigError where Plotly is not installed.
    """
    # Names are escaped wherever they stand: by the template, and as JSON without any character of HTML.
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("page.html").render(
        **view_of(status, live or Live()),
        refresh=refresh,
        library=Markup(_library()),  # noqa: S704 (Plotly's own file, and ours below)
        style=Markup((_HERE / "page.css").read_text(encoding="utf-8")),  # noqa: S704
        script=Markup((_HERE / "page.js").read_text(encoding="utf-8")),  # noqa: S704
    )


def _library() -> str:
    """The script of Plotly that draws the charts, as its package has it."""
    try:
        from plotly.offline import get_plotlyjs  # the extra `page`
    except ImportError as error:
        raise page_errors.page_library_missing(error) from error
    return str(get_plotlyjs())
