"""The strategies, sequence_by, changed groups and concurrent writers, in sessions of a Spark Connect server."""

import pytest

from tests.functional.incremental.test_applied_changes import (
    test_zeros_of_both_signs_are_one_key,  # noqa: F401
)
from tests.functional.incremental.test_changed_groups import (
    test_the_newest_row_of_each_key_with_late_rows,  # noqa: F401
)
from tests.functional.incremental.test_fence import (
    events,  # noqa: F401 (a fixture)
    test_a_compaction_in_the_middle_of_a_run_does_not_fail_it,  # noqa: F401
    test_sql_that_fails_leaves_target_and_checkpoint,  # noqa: F401
)
from tests.functional.incremental.test_sequence_by import (
    test_every_order_of_arrival_gives_the_same_table,  # noqa: F401
)
from tests.functional.incremental.test_strategies import *  # noqa: F403

pytestmark = pytest.mark.thorough
