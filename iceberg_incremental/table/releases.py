"""What only some releases of Iceberg can do, in one table that is asked by name.

A capability is more than a version comparison, because a fix may also be part of a patch release of an earlier minor
version. The table lists released versions that tests of this project or of Iceberg cover, so a future patch release of
an earlier minor version has no capability that its predecessor does not have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum, auto

Version = tuple[int, int, int]
"""Major, minor and patch. A vendor's suffix, such as ``-amzn-0``, is not part of it."""

_VERSION = re.compile(r"Apache Iceberg (\d+)\.(\d+)(?:\.(\d+))?(\S*)")


class Capability(Enum):
    """What a release can do. Capabilities of writers matter for the commits of a release, others for its readers."""

    MOVES_ROWS_WITH_IDS = auto()
    """As a writer, Spark 4 preserves the row ids and sequence numbers of rows that it moves to other Parquet files."""

    MOVES_ROWS_WITH_IDS_ON_SPARK_3 = auto()
    """The same for Spark 3, whose rules for row lineage are part of Iceberg's SQL extensions."""

    REWRITES_MANIFESTS_WITH_IDS = auto()
    """As a writer, Spark's ``rewrite_manifests`` preserves the ids of rows whose files do not contain them."""

    READS_LINEAGE_FROM_PARQUET = auto()
    """As a reader, Spark returns the row ids and sequence numbers of rows in Parquet files."""

    READS_LINEAGE_FROM_ALL = auto()
    """As a reader, Spark returns the row ids and sequence numbers of rows in files of all formats."""


_FIRST: Mapping[Capability, tuple[Version, ...]] = {
    # Before, a commit that removes files and merges manifests lost the ids of the files that the same manifests list:
    # https://github.com/apache/iceberg/pull/16263, in 1.10.2 by https://github.com/apache/iceberg/pull/16304
    Capability.MOVES_ROWS_WITH_IDS: ((1, 10, 2), (1, 11, 0)),
    # Earlier releases have not been tested with Spark 3.
    Capability.MOVES_ROWS_WITH_IDS_ON_SPARK_3: ((1, 12, 0),),
    # https://github.com/apache/iceberg/pull/16699. Releases with #16760 (1.10.x) and #16761 (1.11.x) are not known.
    Capability.REWRITES_MANIFESTS_WITH_IDS: ((1, 12, 0),),
    # The first release with a runtime for Spark 4.
    Capability.READS_LINEAGE_FROM_PARQUET: ((1, 10, 0),),
    # ORC: https://github.com/apache/iceberg/pull/16534
    Capability.READS_LINEAGE_FROM_ALL: ((1, 12, 0),),
}
"""The first release with a capability in each minor version that received it. All minor versions after the last have
it from their first release."""


def version_of(stated: str) -> Version | None:
    """The version in the ``iceberg-version`` of a summary. None if Iceberg's own library did not write it.

    None also for a development version, which may lack fixes of the release that it precedes.
    """
    found = _VERSION.match(stated)
    if found is None or "SNAPSHOT" in found[4]:
        return None
    return int(found[1]), int(found[2]), int(found[3] or 0)


def has(version: Version | None, capability: Capability) -> bool:
    """Whether a version of Iceberg is known to have a capability. An unknown version has none."""
    if version is None:
        return False
    firsts = _FIRST[capability]
    return version >= firsts[-1] or any(version[:2] == first[:2] and version >= first for first in firsts)
