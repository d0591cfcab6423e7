"""The environment variable SPARK_HOME."""

import pytest

from iceberg_incremental.errors import IncrementalError
from iceberg_incremental.jvm.launch import require_spark_home, spark_home


def test_a_folder_without_spark_is_named(tmp_path):
    require_spark_home({})
    require_spark_home({"SPARK_HOME": str(spark_home())})
    with pytest.raises(IncrementalError, match=f"Found: SPARK_HOME={tmp_path}.\\n  To fix: unset SPARK_HOME"):
        require_spark_home({"SPARK_HOME": str(tmp_path)})
