"""The status of a project as one page of HTML that needs no other file and no network."""

from .page import write_page

__all__ = ["write_page"]
