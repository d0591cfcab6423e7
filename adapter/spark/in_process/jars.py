"""The jars of ``spark.jars.packages``. Ivy downloads each jar once, to a file named after its coordinates."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

PACKAGES = "spark.jars.packages"
CLASS_PATH = "spark.driver.extraClassPath"

_IVY = "spark.jars.ivy"
_IVY_DEFAULT = ".ivy2.5.2"
"""In the home folder that Java uses."""
# With these, the user's own files or arguments may set Spark's class path.
_SET_UP = ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS")


def missing(confs: Mapping[str, str]) -> list[str]:
    """The coordinates in ``spark.jars.packages`` that must be downloaded first."""
    coordinates = [each.strip() for each in confs.get(PACKAGES, "").split(",") if each.strip()]
    return [each for each in coordinates if not zipfile.is_zipfile(_file(each, confs))]


def in_place(confs: Mapping[str, str], own: Mapping[str, str], environment: Mapping[str, str]) -> Mapping[str, str]:
    """The settings to start Spark with. They name the jar files, if all exist and nothing else determines the jars.

    Spark then neither calls Ivy nor copies the jars, which takes a tenth of its startup time. ``own``: the user's
    settings. Ivy still resolves the packages in these, which may depend on others, and the jars for executors of a
    cluster.
    """
    resolved_elsewhere = any(key.startswith("spark.jars.") and key != _IVY for key in own)
    if (
        PACKAGES not in confs
        or resolved_elsewhere
        or not is_local(confs)
        or any(name in environment for name in _SET_UP)
    ):
        return confs
    if missing(confs):
        return confs
    files = [str(_file(each, confs)) for each in confs[PACKAGES].split(",")]
    return {key: value for key, value in confs.items() if key != PACKAGES} | {CLASS_PATH: os.pathsep.join(files)}


def is_local(confs: Mapping[str, str]) -> bool:
    """Whether Spark runs all work in this process with these settings."""
    master = confs.get("spark.master", "")
    return master == "local" or master.startswith("local[")


def _file(coordinates: str, confs: Mapping[str, str]) -> Path:
    """The file to which Ivy downloads the jar of ``group:name:version``."""
    group, name, version = (*coordinates.split(":"), "", "")[:3]
    ivy = Path(confs[_IVY]).expanduser() if _IVY in confs else _home() / _IVY_DEFAULT
    return ivy / "jars" / f"{group}_{name}-{version}.jar"


def _home() -> Path:
    """The home folder in Java's ``user.home``: from the user database, whatever ``HOME`` is."""
    try:
        import pwd

        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except (ImportError, KeyError):  # Windows; a user without an entry, as in some containers
        return Path.home()
