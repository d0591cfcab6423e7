"""The offline index of errors: the meaning and an example of each error, which the package ships."""

from __future__ import annotations

import json
from difflib import get_close_matches
from pathlib import Path

from ..errors import INDEX

FILE = Path(__file__).with_name("entries.json")
"""The entries by name, which `make reference` writes."""

_CLOSE = 0.5


def entries() -> dict[str, str]:
    """The text of each entry, by its name, such as ``lost-race``."""
    found: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def name_in(given: str) -> str:
    """The name of an entry in a user's input, which is a name or a link such as ``docs/errors/lost-race.md``."""
    return given.strip().rpartition("/")[2].removesuffix(".md").lower().replace("_", "-")


def near(name: str, names: list[str]) -> list[str]:
    """The names that contain ``name``, followed by names with a similar spelling, closest first."""
    containing = [each for each in names if name and name in each]
    return list(dict.fromkeys([*containing, *get_close_matches(name, names, n=5, cutoff=_CLOSE)]))


def unknown(name: str, names: list[str]) -> str:
    """The message for a name that has no entry."""
    found = near(name, names)
    listed = "".join(f"\n  {each}" for each in found)
    hint = f" Similar names:{listed}" if found else f" `{INDEX}` lists all names."
    return f"There is no error named {name!r}.{hint}"
