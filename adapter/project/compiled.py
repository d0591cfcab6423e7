"""The compiled SQL of a model, outside of its run."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbt.config.runtime import RuntimeConfig
    from dbt.contracts.graph.manifest import Manifest


def compiled_code(config: RuntimeConfig, manifest: Manifest, unique_id: str) -> str:
    """A model's SQL as in a run, with ephemeral models as CTEs. Raises the errors of dbt's compilation.

    Only dbt's compiler provides the context of a model. In an operation, ``render()`` does not support ephemeral
    models, and ``config`` and ``this`` belong to the operation's macro.
    """
    from dbt.compilation import Compiler

    node = deepcopy(manifest.nodes[unique_id])  # several commands may use one manifest
    return str(Compiler(config).compile_node(node, manifest, write=False).compiled_code)  # type: ignore[arg-type]
