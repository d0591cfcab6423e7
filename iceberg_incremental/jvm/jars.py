"""The jars of ``spark.jars.packages``. Ivy downloads each jar once, to a file named after its coordinates."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

PACKAGES = "spark.jars.packages"
CLASS_PATH = "spark.driver.extraClassPath"
LOCAL_FILES = "com.globalmentor:hadoop-bare-naked-local-fs"
"""The package with a file system for local files that starts no processes. Hadoop's starts ``chmod`` for each file that
it writes, which is a tenth of the time of small runs."""

_IVY = "spark.jars.ivy"
_IVY_DEFAULT = ".ivy2.5.2"
"""Ivy's default folder, in the home folder that Java uses."""
_COMPLETE = re.compile(
    r"org\.apache\.iceberg:iceberg-(spark-runtime-[\d._]+|(aws|azure|gcp)-bundle):|org\.xerial:sqlite-jdbc:|"
    + re.escape(LOCAL_FILES)
)
"""The packages that need no other packages except Spark."""
# If one of these is set, the user's own files or arguments may set Spark's class path.
_SET_UP = ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS")


def missing(confs: Mapping[str, str]) -> list[str]:
    """The coordinates in ``spark.jars.packages`` that must be downloaded first."""
    coordinates = [each.strip() for each in confs.get(PACKAGES, "").split(",") if each.strip()]
    return [each for each in coordinates if not zipfile.is_zipfile(_file(each, confs))]


def in_place(confs: Mapping[str, str], environment: Mapping[str, str]) -> Mapping[str, str]:
    """The settings with which to start Spark. They name the jar files, if all exist and no setting selects other jars.

    Spark then neither calls Ivy nor copies the jars, which takes a tenth of its startup time, and the class data
    archive contains their classes. Ivy resolves packages that may have dependencies. It also resolves the jars if a
    cluster's executors need them.
    """
    coordinates = [each.strip() for each in confs.get(PACKAGES, "").split(",")]
    if (
        CLASS_PATH in confs
        or not all(_COMPLETE.match(each) for each in coordinates)
        or any(key.startswith("spark.jars.") and key not in (_IVY, PACKAGES) for key in confs)
        or not is_local(confs)
        or any(name in environment for name in _SET_UP)
        or missing(confs)
    ):
        return confs
    files = [str(_file(each, confs)) for each in coordinates]
    kept = {key: value for key, value in confs.items() if key != PACKAGES}
    return local_files(coordinates) | kept | {CLASS_PATH: os.pathsep.join(files)}


def local_files(class_path: Iterable[str]) -> dict[str, str]:
    """The setting for local files, given the names of all jars with which Spark starts. Empty if none is needed.

    Spark reads local files before it loads jars that it downloads. It would not find the class among them.
    """
    name = LOCAL_FILES.partition(":")[2]
    if not any(name in jar for jar in class_path):
        return {}
    return {"spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem"}


def is_local(confs: Mapping[str, str]) -> bool:
    """Whether Spark runs without a cluster with these settings."""
    master = confs.get("spark.master", "")
    return master == "local" or master.startswith("local[")


def _file(coordinates: str, confs: Mapping[str, str]) -> Path:
    """The file to which Ivy downloads the jar of ``group:name:version``."""
    group, name, version = (*coordinates.split(":"), "", "")[:3]
    ivy = Path(confs[_IVY]).expanduser() if _IVY in confs else _home() / _IVY_DEFAULT
    return ivy / "jars" / f"{group}_{name}-{version}.jar"


def _home() -> Path:
    """The home folder in Java's ``user.home``, which is read from the user database, regardless of ``HOME``."""
    try:
        import pwd

        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except (ImportError, KeyError):  # Windows; a user without an entry, as in some containers
        return Path.home()
