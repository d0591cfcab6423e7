"""Registers a listener for the events of a dbt command, if OpenLineage is installed and configured."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.events.logging import AdapterLogger

from . import configured

if TYPE_CHECKING:
    from ..hooks.adapter import Adapter
    from ..hooks.invocation import Invocations
    from .facts import Event
    from .listener import Listener
    from .recorder import Settings

logger = AdapterLogger("SparkIceberg")

_BUILDING = frozenset(("build", "retry", "run", "seed", "snapshot"))
"""dbt's names of the commands that build tables."""


def listen(adapter: Adapter, invocations: Invocations, settings: Settings, version: str) -> Listener | None:
    """Register a listener for the events of dbt's command. None if OpenLineage is not configured or not installed.

    Also None for a command that builds no tables. ``settings``: returns Spark's settings of catalogs. ``version``: the
    adapter's version.
    """
    command = getattr(getattr(adapter.config, "args", None), "which", None)
    if command not in _BUILDING or not configured.is_configured(os.environ, Path.cwd(), configured.home()):
        return None
    if not configured.is_installed():
        logger.debug("OpenLineage is configured, but its client, the package openlineage-python, is not installed")
        return None
    from dbt_common.events.event_manager_client import add_callback_to_manager
    from dbt_common.invocation import get_invocation_id

    from .facts import Parent
    from .listener import Listener
    from .recorder import Recorder
    from .sender import Sender

    job = f"dbt-run-{adapter.config.project_name}"
    command_run = Parent(configured.job_namespace(os.environ), job, get_invocation_id())
    found = Listener(
        command_run,
        configured.outer_run(os.environ),
        Recorder(adapter, invocations, settings),
        lambda: Sender(lambda: _builder(version)),
    )
    add_callback_to_manager(found.hear)
    return found


def _builder(version: str) -> Callable[[Event], Any]:
    """The function that converts events to the classes of OpenLineage's client, whose import is slow."""
    from dbt.version import __version__ as dbt_version

    from .events import Events

    return Events(version, dbt_version).run_event
