"""The page that the pictures of the status page show."""

from __future__ import annotations

from hashlib import sha256
from unittest.mock import patch

from dbt.adapters.spark_iceberg.status_page import page

from .airline import airline

MADE_FROM = "made from"
"""The key of the text in a picture file that contains the digest of the page."""


def digest() -> str:
    """A digest of the page in the pictures, without Plotly's script."""
    with patch.object(page, "_library", lambda: ""):
        return sha256(page.page(airline()).encode()).hexdigest()[:16]
