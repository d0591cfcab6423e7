"""dbt's snapshots."""

from __future__ import annotations

from dbt.tests.adapter.basic.test_snapshot_check_cols import BaseSnapshotCheckCols
from dbt.tests.adapter.basic.test_snapshot_timestamp import BaseSnapshotTimestamp
from dbt.tests.adapter.simple_snapshot.new_record_check_mode import BaseSnapshotNewRecordCheckMode
from dbt.tests.adapter.simple_snapshot.new_record_dbt_valid_to_current import BaseSnapshotNewRecordDbtValidToCurrent
from dbt.tests.adapter.simple_snapshot.new_record_timestamp_mode import BaseSnapshotNewRecordTimestampMode
from dbt.tests.adapter.simple_snapshot.test_ephemeral_snapshot_hard_deletes import (
    BaseSnapshotEphemeralHardDeletes,
    BaseSnapshotNewColumnSpecificCheckCols,
    BaseSnapshotNewColumnTimestampStrategy,
    BaseSnapshotNewColumnWithDeletes,
)
from dbt.tests.adapter.simple_snapshot.test_snapshot import BaseSimpleSnapshot, BaseSnapshotCheck
from dbt.tests.adapter.simple_snapshot.test_various_configs import (
    BaseSnapshotColumnNames,
    BaseSnapshotColumnNamesFromDbtProject,
    BaseSnapshotDbtValidToCurrent,
    BaseSnapshotInvalidColumnNames,
    BaseSnapshotMultiUniqueKey,
)

from .spark_sql import InSparkSql


class TestSnapshotCheckCols(BaseSnapshotCheckCols):
    pass


class TestSnapshotTimestamp(BaseSnapshotTimestamp):
    pass


class TestSimpleSnapshot(InSparkSql, BaseSimpleSnapshot):
    pass


class TestSnapshotCheck(BaseSnapshotCheck):
    pass


class TestSnapshotColumnNames(InSparkSql, BaseSnapshotColumnNames):
    pass


class TestSnapshotColumnNamesFromDbtProject(InSparkSql, BaseSnapshotColumnNamesFromDbtProject):
    pass


class TestSnapshotInvalidColumnNames(InSparkSql, BaseSnapshotInvalidColumnNames):
    pass


class TestSnapshotDbtValidToCurrent(InSparkSql, BaseSnapshotDbtValidToCurrent):
    pass


class TestSnapshotMultiUniqueKey(InSparkSql, BaseSnapshotMultiUniqueKey):
    pass


class TestSnapshotNewRecordCheckMode(InSparkSql, BaseSnapshotNewRecordCheckMode):
    pass


class TestSnapshotNewRecordTimestampMode(InSparkSql, BaseSnapshotNewRecordTimestampMode):
    pass


class TestSnapshotNewRecordDbtValidToCurrent(BaseSnapshotNewRecordDbtValidToCurrent):
    pass


class TestSnapshotEphemeralHardDeletes(InSparkSql, BaseSnapshotEphemeralHardDeletes):
    pass


class TestSnapshotNewColumnSpecificCheckCols(InSparkSql, BaseSnapshotNewColumnSpecificCheckCols):
    pass


class TestSnapshotNewColumnTimestampStrategy(InSparkSql, BaseSnapshotNewColumnTimestampStrategy):
    pass


class TestSnapshotNewColumnWithDeletes(InSparkSql, BaseSnapshotNewColumnWithDeletes):
    pass
