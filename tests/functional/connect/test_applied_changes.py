"""The same on a session of a Spark Connect server."""

import pytest

from tests.functional.incremental.test_applied_changes import *  # noqa: F403

pytestmark = pytest.mark.thorough
