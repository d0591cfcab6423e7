"""Registers a listener for the events of a dbt command, if OpenLineage is installed and configured."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.events.logging import AdapterLogger

from .facts import Parent

if TYPE_CHECKING:
    from ..hooks.adapter import Adapter
    from ..hooks.invocation import Invocations
    from .facts import Event
    from .listener import Listener
    from .recorder import Settings

logger = AdapterLogger("SparkIceberg")
_FILE = "openlineage.yml"
_NAMESPACE = "dbt"
"""The default namespace of jobs, as in OpenLineage's own dbt integration."""


def is_configured(environment: Mapping[str, str], working: Path, home: Path | None) -> bool:
    """Whether an environment variable names a receiver, or a configuration file exists.

    ``working``: the folder in which dbt was started. ``home``: the user's home folder, if there is one. Files in a
    folder that this user cannot access do not count. OPENLINEAGE_DISABLED overrides both.
    """
    if environment.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        return False
    if environment.get("OPENLINEAGE_URL") or any(name.startswith("OPENLINEAGE__TRANSPORT") for name in environment):
        return True
    named = environment.get("OPENLINEAGE_CONFIG")
    files = [working / _FILE]
    if home is not None:
        files.append(home / ".openlineage" / _FILE)
    if named:
        files.append(Path(named))
    # Path.is_file raises an error in a folder without permission.
    return any(os.path.isfile(file) for file in files)  # noqa: PTH113


def home() -> Path | None:
    """The user's home folder. None for a user without a home folder, as in some containers."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def is_installed() -> bool:
    """Whether the client is installed. Does not import it."""
    return find_spec("openlineage") is not None and find_spec("openlineage.client") is not None


def job_namespace(environment: Mapping[str, str]) -> str:
    """The namespace of the project's jobs."""
    return environment.get("OPENLINEAGE_NAMESPACE") or _NAMESPACE


def outer_run(environment: Mapping[str, str]) -> Parent | None:
    """The run that started dbt, such as a scheduler's task. None if the environment names none."""
    root = _run(environment.get("OPENLINEAGE_ROOT_PARENT_ID", ""))
    return _run(environment.get("OPENLINEAGE_PARENT_ID", ""), root)


def _run(text: str, root: Parent | None = None) -> Parent | None:
    """Parse a run: namespace, job and id, separated by slashes."""
    parts = text.split("/")
    if len(parts) != 3:
        return None
    namespace, job, run_id = parts
    return Parent(namespace, job, run_id, root)


_BUILDING = frozenset(("build", "retry", "run", "seed", "snapshot"))
"""dbt's names of the commands that build tables."""


def listen(adapter: Adapter, invocations: Invocations, settings: Settings, version: str) -> Listener | None:
    """Register a listener for the events of dbt's command. None if OpenLineage is not configured or not installed.

    Also None for a command that builds no tables. ``settings``: returns Spark's settings of catalogs. ``version``: the
    adapter's version.
    """
    command = getattr(getattr(adapter.config, "args", None), "which", None)
    if command not in _BUILDING or not is_configured(os.environ, Path.cwd(), home()):
        return None
    if not is_installed():
        logger.debug("OpenLineage is configured, but its client, the package openlineage-python, is not installed")
        return None
    from dbt_common.events.event_manager_client import add_callback_to_manager
    from dbt_common.invocation import get_invocation_id

    from .facts import Parent
    from .listener import Listener, Sender
    from .recorder import Recorder

    job = f"dbt-run-{adapter.config.project_name}"
    command_run = Parent(job_namespace(os.environ), job, get_invocation_id())
    found = Listener(
        command_run,
        outer_run(os.environ),
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
