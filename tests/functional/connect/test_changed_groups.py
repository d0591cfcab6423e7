"""The same on a session of a Spark Connect server."""

import pytest

from tests.functional.incremental.test_changed_groups import *  # noqa: F403

pytestmark = pytest.mark.thorough
