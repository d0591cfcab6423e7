"""The status of a project as one HTML page, which needs no other files and no network."""

from .page import write_page

__all__ = ["write_page"]
