"""The pictures in docs/pictures show the current status page. The check needs no browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from .pictured import MADE_FROM, digest

PICTURES = sorted((Path(__file__).parents[5] / "docs" / "pictures").glob("*.png"))


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.stem)
def test_a_picture_shows_the_current_page(picture):
    with Image.open(picture) as image:
        assert image.info.get(MADE_FROM) == digest(), "run `make pictures`"


def test_all_pictures_exist():
    assert {path.stem for path in PICTURES} == {"status-model", "status-overview", "status-phone"}
