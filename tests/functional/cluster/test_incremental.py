"""Incremental models of each strategy on the cluster. Each connection method builds its own tables."""

import pytest

from tests.functional.incremental.test_changed_groups import (
    test_the_newest_row_of_each_key_with_late_rows,  # noqa: F401
)
from tests.functional.incremental.test_fence import (
    events,  # noqa: F401 (a fixture)
    test_sql_that_fails_leaves_target_and_checkpoint,  # noqa: F401
)
from tests.functional.incremental.test_runs import (
    test_a_pipeline_of_two_stages,  # noqa: F401
)
from tests.functional.incremental.test_strategies import (
    test_insert_overwrite_replaces_the_partitions_that_the_changes_touch,  # noqa: F401
)

pytestmark = pytest.mark.thorough
