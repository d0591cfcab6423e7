"""The table properties by which Iceberg removes snapshots and older metadata files, with Iceberg's defaults."""

from __future__ import annotations

from collections.abc import Mapping

_DAY_MS = 24 * 3_600_000
_FOREVER_MS = 2**63 - 1

PREVIOUS_VERSIONS = "write.metadata.previous-versions-max"
FEW_METADATA_FILES = 20
"""If a table keeps fewer older metadata files, a few runs replace all of them. A run writes up to seven files."""


def older_metadata_files(properties: Mapping[str, str]) -> int:
    """The number of older metadata files that a table keeps. Iceberg treats numbers below 1 as 1."""
    return max(1, _number(properties, PREVIOUS_VERSIONS, 100))


def max_snapshot_age_ms(properties: Mapping[str, str]) -> int:
    """The age in milliseconds from which snapshots may expire."""
    return _number(properties, "history.expire.max-snapshot-age-ms", 5 * _DAY_MS)


def min_snapshots_to_keep(properties: Mapping[str, str]) -> int:
    """The minimum number of snapshots of a branch that are kept."""
    return max(1, _number(properties, "history.expire.min-snapshots-to-keep", 1))


def max_ref_age_ms(properties: Mapping[str, str]) -> int:
    """The age in milliseconds from which branches and tags without their own age expire."""
    return _number(properties, "history.expire.max-ref-age-ms", _FOREVER_MS)


def is_forever(age_ms: float) -> bool:
    """Whether an age is Iceberg's value for refs that never expire."""
    return age_ms >= _FOREVER_MS


def _number(properties: Mapping[str, str], key: str, default: int) -> int:
    text = properties.get(key, "")
    return int(text) if text.isdecimal() else default
