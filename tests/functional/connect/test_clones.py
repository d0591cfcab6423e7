"""Clones and comparisons with rebuilds, in sessions of a Spark Connect server."""

import pytest

from tests.functional.incremental.test_clones import (
    dev,  # noqa: F401 (a fixture)
    events,  # noqa: F401 (a fixture)
    test_a_clone_has_the_files_and_the_checkpoint_of_its_origin,  # noqa: F401
    test_existing_tables_are_replaced_only_on_request,  # noqa: F401
)
from tests.functional.incremental.test_verify import (
    test_values_of_all_types_are_compared,  # noqa: F401
)

pytestmark = pytest.mark.thorough
