"""The properties of a table by which Iceberg removes snapshots and older metadata files, with Iceberg's defaults."""

from __future__ import annotations

from collections.abc import Mapping

_DAY_MS = 24 * 3_600_000
_FOREVER_MS = 2**63 - 1

PREVIOUS_VERSIONS = "write.metadata.previous-versions-max"
FEW_METADATA_FILES = 20
"""A run makes up to seven commits, and each adds a metadata file: fewer than this are soon gone."""


def older_metadata_files(properties: Mapping[str, str]) -> int:
    """How many older metadata files a table keeps; Iceberg takes a lower number for 1."""
    return max(1, _number(properties, PREVIOUS_VERSIONS, 100))


def max_snapshot_age_ms(properties: Mapping[str, str]) -> int:
    """The age from which on a snapshot may go, in milliseconds."""
    return _number(properties, "history.expire.max-snapshot-age-ms", 5 * _DAY_MS)


def min_snapshots_to_keep(properties: Mapping[str, str]) -> int:
    """How many snapshots of a branch stay at the least."""
    return max(1, _number(properties, "history.expire.min-snapshots-to-keep", 1))


def max_ref_age_ms(properties: Mapping[str, str]) -> int:
    """The age of its snapshot from which on a branch or tag goes that names none itself, in milliseconds."""
    return _number(properties, "history.expire.max-ref-age-ms", _FOREVER_MS)


def is_forever(age_ms: float) -> bool:
    """Whether an age is Iceberg's for what never goes."""
    return age_ms >= _FOREVER_MS


def _number(properties: Mapping[str, str], key: str, default: int) -> int:
    text = properties.get(key, "")
    return int(text) if text.isdecimal() else default
