"""The profile for ``warm-up``, which needs no dbt project."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from ..profile.credentials import Method, SparkIcebergCredentials


def session_credentials(given: Mapping[str, Any]) -> SparkIcebergCredentials:
    """The profile with which ``method: session`` starts Spark. ``given``: dbt's options.

    Outside of a dbt project, this is the profile of an embedded lakehouse. Raises DbtRuntimeError for a profile that
    cannot be used, or with another method.
    """
    folder = Path(given["project_dir"])
    if not (folder / "dbt_project.yml").exists():
        return SparkIcebergCredentials(warehouse=".", schema="default")
    from dbt.cli.resolvers import default_profiles_dir
    from dbt.config.runtime import load_profile
    from dbt.flags import set_from_args

    options = {**given, "profiles_dir": given["profiles_dir"] or default_profiles_dir()}
    set_from_args(Namespace(**options), None)
    found = load_profile(str(folder), {}, given["profile"], given["target"]).credentials
    if not isinstance(found, SparkIcebergCredentials) or found.method != Method.SESSION:
        method = getattr(found, "method", found.type)
        raise DbtRuntimeError(
            "Spark runs outside of dbt's process, so there is nothing to warm up.\n"
            "  Expected: a target with `method: session`.\n"
            f"  Found: {method}.\n"
            "  To fix: choose another target with --target, or run this command outside of the dbt project."
        )
    return found
