from __future__ import annotations

from tests.functional.watch.conftest import shop

__all__ = ["shop"]
