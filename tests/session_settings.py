"""Settings of the Spark session with which the statements of this package are tested, except the refused settings."""

from __future__ import annotations

from collections.abc import Mapping

from iceberg_incremental.plan.session_settings import SUMMARY_SETTING
from iceberg_incremental.table.checkpoint import KEY
from iceberg_incremental.table.commits import PART_KEY

HOLDS: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.crossJoin.enabled": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.iceberg.aggregate-push-down.enabled": "false",
    "spark.sql.iceberg.check-nullability": "false",
    "spark.sql.iceberg.check-ordering": "false",
    "spark.sql.iceberg.data-planning-mode": "distributed",
    "spark.sql.iceberg.delete-planning-mode": "distributed",
    "spark.sql.iceberg.distribution-mode": "none",
    "spark.sql.iceberg.executor-cache.enabled": "false",
    "spark.sql.iceberg.identifier-fields-rely": "true",
    "spark.sql.iceberg.merge-schema": "true",
    "spark.sql.iceberg.planning.preserve-data-grouping": "true",
    "spark.sql.iceberg.report-column-stats": "false",
    "spark.sql.iceberg.shred-variants": "true",
    "spark.sql.iceberg.vectorization.enabled": "false",
    "spark.sql.icu.caseMappings.enabled": "false",
    "spark.sql.jsonGenerator.ignoreNullFields": "false",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.orderByOrdinal": "false",
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.storeAssignmentPolicy": "STRICT",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.variable.substitute": "false",
}
"""Settings that change no result, with the tested values. All booleans of ``spark.sql.legacy`` also belong here."""

HOLDS_UNDER_ANSI: Mapping[str, str] = {
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.ansi.enforceReservedKeywords": "true",
    "spark.sql.ansi.relationPrecedence": "true",
}
"""Settings that change no result, and have an effect only if ``spark.sql.ansi.enabled`` is true."""

SET: Mapping[str, str] = {
    "spark.sql.sources.partitionOverwriteMode": "dynamic for the statement of insert_overwrite",
    SUMMARY_SETTING + PART_KEY: "the epoch, for a statement that another one of the run follows",
    SUMMARY_SETTING + KEY: "the checkpoint, for the statement that carries it",
}
"""Settings that a run sets for its own statements and then restores, also after an error."""
