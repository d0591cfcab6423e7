from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_iceberg.spark import checks
from iceberg_incremental.explain.java_errors import no_java
from iceberg_incremental.jvm.launch import JvmEndedError


class Gateway(Exception):  # noqa: N818
    """The error that PySpark raises if the JVM ends before it is ready."""

    def getCondition(self):  # noqa: N802
        return "JAVA_GATEWAY_EXITED"


@pytest.mark.parametrize("version", ["4.0.0", "4.1.4", "5.0.0-preview"])
def test_supported_spark_versions(version):
    checks.require_spark(version)


def test_spark_is_too_old():
    with pytest.raises(DbtRuntimeError, match=r"Spark 3\.5\.1 is too old: .* Spark 4\.0 or later"):
        checks.require_spark("3.5.1")


@pytest.mark.parametrize(
    ("installed", "install"), [(["pyspark"], "pyspark[connect]"), ([], "dbt-spark-iceberg[connect]")]
)
def test_no_spark_connect_client(monkeypatch, installed, install):
    monkeypatch.setitem(sys.modules, "pyspark.sql.connect.client", None)
    real = importlib.metadata.version
    gone = {"pyspark", "pyspark-client"} - set(installed)

    def version(name):
        if name in gone:
            raise importlib.metadata.PackageNotFoundError
        return real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    with pytest.raises(DbtRuntimeError) as caught:
        checks.require_connect()
    assert caught.value.msg.endswith(f"\nInstall it: pip install '{install}'")


def test_the_spark_connect_client_is_too_old():
    checks.require_connect_client("4.1.0")
    with pytest.raises(DbtRuntimeError) as caught:
        checks.require_connect_client("4.0.2")
    assert caught.value.msg == (
        "Spark's Connect client is too old for `method: connect`.\n"
        "  Expected: 4.1 or later; the server may be older.\n"
        "  Found: 4.0.2.\n"
        "  To fix: pip install 'pyspark-client>=4.1,<4.2', or, if PySpark is installed, "
        "pip install 'pyspark[connect]>=4.1,<4.2'."
    )


RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-{}_2.13:1.12.0"


@pytest.mark.parametrize(
    ("spark", "own", "embedded"),
    [
        ("4.0.0", {}, True),
        ("4.1.4", {}, True),
        ("4.1.4", {"spark.jars.packages": "org.x:y:1," + RUNTIME.format("4.1")}, False),
        # a runtime that was released later, a runtime with another name, and one that may be among Spark's own jars
        ("4.2.0", {"spark.jars.packages": RUNTIME.format("4.2")}, True),
        ("4.2.0", {"spark.jars": "/opt/iceberg.jar"}, True),
        ("4.2.0", {}, False),
    ],
)
def test_a_spark_that_may_have_its_iceberg_runtime(spark, own, embedded):
    checks.require_runtime(spark, own, embedded=embedded)


@pytest.mark.parametrize(("spark", "minor"), [("4.2.1", "4.2"), ("4.10.0", "4.10"), ("5.0.0.dev1", "5.0")])
def test_a_spark_without_an_iceberg_runtime(spark, minor):
    with pytest.raises(DbtRuntimeError) as caught:
        checks.require_runtime(spark, {}, embedded=True)
    assert caught.value.msg == (
        f"There is no Iceberg runtime for Spark {spark} yet.\n"
        "  Expected: Spark 4.0 or 4.1.\n"
        f"  Found: Spark {spark}.\n"
        f"  To fix: pip install 'pyspark>=4.0,<4.2'. If Iceberg has released a runtime for Spark {minor} since, "
        "set it in the profile's server_side_parameters:\n"
        f'    spark.jars.packages: "org.apache.iceberg:iceberg-spark-runtime-{minor}_2.13:<version>,'
        'org.xerial:sqlite-jdbc:3.46.1.3,com.globalmentor:hadoop-bare-naked-local-fs:0.1.0"'
    )


@pytest.mark.parametrize("setting", ["spark.jars", "spark.jars.packages", "spark.driver.extraClassPath"])
def test_an_iceberg_runtime_for_another_spark(setting):
    with pytest.raises(DbtRuntimeError) as caught:
        checks.require_runtime("4.0.1", {setting: "/jars/iceberg-spark-runtime-4.1_2.13-1.12.0.jar"}, embedded=False)
    assert caught.value.msg == (
        "The Iceberg runtime in server_side_parameters is not for Spark 4.0.1.\n"
        "  Expected: iceberg-spark-runtime-4.0_2.13.\n"
        "  Found: iceberg-spark-runtime-4.1_2.13.\n"
        '  To fix: set spark.jars.packages: "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0,'
        'org.xerial:sqlite-jdbc:3.46.1.3,com.globalmentor:hadoop-bare-naked-local-fs:0.1.0"; '
        "or install the matching Spark: pip install 'pyspark==4.1.*'."
    )


def test_an_iceberg_runtime_for_an_older_spark():
    with pytest.raises(DbtRuntimeError, match=r"To fix: install the matching Spark: pip install 'pyspark==4"):
        checks.require_runtime("4.2.0", {"spark.jars.packages": RUNTIME.format("4.1")}, embedded=True)


def test_no_java_is_the_engines_error():
    assert "none was found that can run it" in checks.start_error(no_java([], "17 to 22"), None).msg


def test_other_errors_name_the_log(tmp_path: Path):
    log = tmp_path / "spark.log"
    log.write_text("why")
    assert str(checks.start_error(ValueError("no port"), log).msg) == (
        f"Spark did not start: no port\nSpark's whole output is in {log}."
    )


OLDER_START = f"Error: of the start before\n{checks.START_MARK}: 2026-01-01\n"


@pytest.mark.parametrize(
    ("printed", "reason", "fix"),
    [
        (
            "Invalid maximum heap size: -Xmx12x\nError: Could not create the Java Virtual Machine.\n",
            "Invalid maximum heap size: -Xmx12x",
            "spark.driver.memory",
        ),
        (
            "Error occurred during initialization of VM\nCould not reserve enough space for 966367KB object heap\n",
            "Could not reserve enough space for 966367KB object heap",
            "spark.driver.memory",
        ),
        (
            'Exception in thread "main" java.lang.RuntimeException: [unresolved dependency: a#b;1: not found]\n'
            "\tat org.apache.spark.util.MavenUtils\n",
            "[unresolved dependency: a#b;1: not found]",
            "spark.jars.repositories",
        ),
    ],
)
def test_the_error_of_a_jvm_that_ends_contains_the_reason(tmp_path: Path, printed, reason, fix):
    log = tmp_path / "spark.log"
    log.write_text(OLDER_START + "WARNING: Using incubator modules\n" + printed)
    said = str(checks.start_error(JvmEndedError("exit code 1"), log).msg)
    assert reason in said
    assert fix in said
    assert "the start before" not in said
    assert "Could not create" not in said
    assert "\tat" not in said


def test_a_warehouse_that_is_a_file(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(DbtRuntimeError, match=r"`warehouse` is .*/file, which is a file: expected a folder"):
        checks.make_warehouse(tmp_path / "file")


def test_a_warehouse_that_cannot_be_created(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(
        DbtRuntimeError, match=r"/file/below, which cannot be created: Not a directory\. Set `warehouse`"
    ):
        checks.make_warehouse(tmp_path / "file" / "below")


def test_a_warehouse_is_created_with_its_parent_folders(tmp_path: Path):
    checks.make_warehouse(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_python_over_thrift():
    error = checks.no_python("model.shop.flights", "thrift")
    assert "model.shop.flights is a Python model, which `method: thrift` does not support" in str(error)


def test_functions_must_be_in_the_session_catalog():
    checks.require_function_catalog("spark_catalog", "function.shop.f")
    with pytest.raises(DbtRuntimeError, match=r"function\.shop\.f would be created in the catalog `lake`"):
        checks.require_function_catalog("lake", "function.shop.f")


SETTINGS = {
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "rest",
    "spark.sql.catalog.other": "x",
    "spark.sql.catalogImplementation": "hive",
}


def test_a_catalog_is_a_setting_with_a_class():
    assert set(checks.catalogs(SETTINGS)) == {"lake", "other"}


def test_the_error_of_an_unknown_catalog_lists_the_configured_ones():
    checks.require_catalog("lake", SETTINGS)
    with pytest.raises(
        DbtRuntimeError, match=r"`lakee` is not configured in Spark\. Configured catalogs: `lake`, `other`"
    ) as caught:
        checks.require_catalog("lakee", SETTINGS)
    assert "Set `catalog` in the profile, or `database` of the model or source" in caught.value.msg


def test_the_session_catalog_must_be_icebergs():
    with pytest.raises(DbtRuntimeError, match="SparkSessionCatalog"):
        checks.require_catalog("spark_catalog", SETTINGS)


@pytest.mark.parametrize(
    "setting", ["spark.sql.hive.thriftServer.singleSession", "spark.kyuubi.engine.single.spark.session"]
)
def test_a_session_shared_by_all_connections_is_refused(setting):
    checks.require_own_sessions({})
    checks.require_own_sessions({setting: "false"})
    with pytest.raises(DbtRuntimeError, match=f"Found: {setting}=true"):
        checks.require_own_sessions({setting: "true"})
