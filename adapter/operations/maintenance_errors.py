"""The error of a maintenance run that failed for some tables."""

from __future__ import annotations

from collections.abc import Sequence

from iceberg_incremental.errors import MaintenanceError
from iceberg_incremental.explain.entries import indexed
from iceberg_incremental.quantities import counted


@indexed
def maintenance_failed(failed: Sequence[tuple[str, str]]) -> MaintenanceError:
    """The maintenance of some tables failed. The maintenance of the other tables is complete."""
    listed = "\n".join(f"    {table}: {error.splitlines()[0]}" for table, error in failed)
    return MaintenanceError(
        f"ip_maintain failed for {counted(len(failed), 'table')}:\n{listed}\n"
        "  Found: these errors, which the report shows in full. Each step makes one commit or none, so no row is "
        "lost.\n"
        "  To fix: run ip_maintain again if another commit interfered. Otherwise, fix the cause that the error names."
    )
