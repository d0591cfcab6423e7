"""``--defer`` in an operation. dbt-core accepts the flag, but applies it only in commands that build nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbt.config.runtime import RuntimeConfig
    from dbt.contracts.graph.manifest import Manifest


def is_deferring(config: RuntimeConfig) -> bool:
    """Whether the command has --defer."""
    return bool(getattr(config.args, "DEFER", False))


def state_folder(config: RuntimeConfig) -> Path | None:
    """The folder of the manifest to defer to: --defer-state or --state."""
    found: Path | None = getattr(config.args, "DEFER_STATE", None) or getattr(config.args, "STATE", None)
    return found


def defer_to(manifest: Manifest, config: RuntimeConfig, folder: Path) -> bool:
    """Set the relations of a manifest's nodes to those of another environment.

    ``folder``: contains the other manifest. Returns False if it does not exist. Raises dbt's error for a manifest of
    another version.
    """
    from dbt.contracts.state import PreviousState

    other = PreviousState(folder, Path(config.target_path), Path(config.project_root)).manifest
    if other is not None:
        manifest.merge_from_artifact(other)
    return other is not None
