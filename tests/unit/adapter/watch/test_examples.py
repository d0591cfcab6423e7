"""docs/watch.md shows the examples that the tests run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "watch.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("section", "file"),
    [("In Airflow", "airflow/shop.py"), ("In Cosmos", "cosmos/shop.py"), ("In Dagster", "dagster/definitions.py")],
)
def test_the_page_shows_the_current_example(section, file):
    shown = re.search(rf"### {section}\n.*?```python\n(.*?)```", PAGE, re.DOTALL)

    assert shown[1] in (ROOT / "examples" / file).read_text(encoding="utf-8")
    assert f"`examples/{file}`" in PAGE
