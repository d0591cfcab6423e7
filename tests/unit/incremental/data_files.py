"""Data files as literal values, with bounds in the format of manifests."""

from __future__ import annotations

import struct

from iceberg_incremental.table.files import DataFile, PartitionField


def whole(value):
    return struct.pack("<i", value)


def long(value):
    return struct.pack("<q", value)


def file(path="f", partition=(), lower=None, upper=None, nulls=None, values=None):
    """A data file. ``partition`` is a list of (source id, transform, value) triples."""
    return DataFile(
        path,
        records=10,
        size=100,
        spec=tuple(PartitionField(1000 + i, source, how) for i, (source, how, _) in enumerate(partition)),
        partition=tuple(value for _, _, value in partition),
        lower=lower or {},
        upper=upper or {},
        nulls=nulls or {},
        values=values or {},
    )
