"""The status page as text: one file that contains the style, the scripts and the data."""

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
    """Write the page to a file atomically, so that readers see either the old or the new page.

    Raises ConfigError if the file cannot be written.
    """
    text = page(status, refresh=refresh, live=live)
    written = output.with_name(f".{output.name}.{uuid4().hex}")
    try:
        with written.open("x", encoding="utf-8") as file:  # with this process's default permissions for new files
            file.write(text)
        written.replace(output)
    except OSError as error:
        with suppress(OSError):
            written.unlink(missing_ok=True)
        raise page_errors.page_not_written(output, error) from error


def page(status: ProjectStatus, *, refresh: int | None = None, live: Live | None = None) -> str:
    """The page of a project's status. ``refresh``: the interval in seconds at which a browser reloads it, if any.

    ``live``: the state of ``watch``, if it writes the page.
    """
    # The template escapes all names, including those in JSON.
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
    """Plotly's script, from its package, whose import is slow."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())
