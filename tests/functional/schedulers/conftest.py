from __future__ import annotations

from tests.functional.watch.conftest import outside, shop

__all__ = ["outside", "shop"]
