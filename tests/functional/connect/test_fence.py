"""The same on a session of a Spark Connect server."""

import pytest

from tests.functional.incremental.test_fence import *  # noqa: F403

pytestmark = pytest.mark.thorough
