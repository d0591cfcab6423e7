"""Whether OpenLineage is configured, by the means of its own client, and installed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from .facts import Parent

_FILE = "openlineage.yml"
_NAMESPACE = "dbt"
"""Of jobs, unless the environment names another one; also that of OpenLineage's own integration of dbt."""


def is_configured(environment: Mapping[str, str], working: Path, home: Path | None) -> bool:
    """Whether a receiver is named by a variable of the environment, or a configuration file exists.

    ``working``, ``home``: the folder that dbt was started in, and the user's, if there is one. A file that this user
    cannot read does not count.
    """
    if environment.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        return False
    if environment.get("OPENLINEAGE_URL") or any(name.startswith("OPENLINEAGE__TRANSPORT") for name in environment):
        return True
    named = environment.get("OPENLINEAGE_CONFIG")
    files = [working / _FILE, *([] if home is None else [home / ".openlineage" / _FILE]), *([named] if named else [])]
    # not Path.is_file: it raises where a folder is closed to this user
    return any(os.path.isfile(file) for file in files)  # noqa: PTH113


def home() -> Path | None:
    """The user's folder; None for a user without one, as in some containers."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def is_installed() -> bool:
    """Whether the client is installed, without an import of it."""
    return find_spec("openlineage") is not None and find_spec("openlineage.client") is not None


def job_namespace(environment: Mapping[str, str]) -> str:
    """The namespace of the project's jobs."""
    return environment.get("OPENLINEAGE_NAMESPACE") or _NAMESPACE


def outer_run(environment: Mapping[str, str]) -> Parent | None:
    """The run that started dbt, such as a scheduler's task; None where the environment names none."""
    root = _run(environment.get("OPENLINEAGE_ROOT_PARENT_ID", ""))
    return _run(environment.get("OPENLINEAGE_PARENT_ID", ""), root)


def _run(text: str, root: Parent | None = None) -> Parent | None:
    """A run by its namespace, its job and its id, joined by slashes."""
    parts = text.split("/")
    if len(parts) != 3:
        return None
    namespace, job, run_id = parts
    return Parent(namespace, job, run_id, root)
