"""Holding a model's positions in its sources by tags: ``adapter.ip.holds``."""

from __future__ import annotations

from iceberg_incremental.publish.source_holds import SourceHolds

from .adapter import Adapter
from .context import Node
from .invocation import Invocations


class HoldHooks:
    """What the materialization calls before it builds, and after."""

    def __init__(self, adapter: Adapter, invocations: Invocations) -> None:
        self._adapter = adapter
        self._invocations = invocations

    def hold(self, node: Node) -> None:
        """Hold what a run continues from and what it reads, before it builds."""
        self._holds(node).hold()

    def release(self, node: Node) -> None:
        """Hold where a model stands after its run, and let go of where it stood before."""
        self._holds(node).release()

    def _holds(self, node: Node) -> SourceHolds:
        run = self._invocations.opened(node).run
        return SourceHolds(run, self._adapter.spark, self._adapter.metadata_reader())
