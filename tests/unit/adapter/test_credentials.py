from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from dbt_common.dataclass_schema import ValidationError
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials, project_folder
from dbt.adapters.spark_iceberg.profile.remote import Remote


def credentials(**profile) -> SparkIcebergCredentials:
    data = SparkIcebergCredentials.translate_aliases({"schema": "analytics", **profile})
    SparkIcebergCredentials.validate(data)
    return SparkIcebergCredentials.from_dict(data)


def test_the_embedded_default():
    c = credentials(warehouse="./lakehouse")
    assert (c.type, str(c.method), c.catalog, c.database, c.schema) == (
        "spark_iceberg",
        "session",
        "lakehouse",
        "lakehouse",
        "analytics",
    )
    assert c.folder == Path.cwd() / "lakehouse"
    assert c.spark_confs("4.1.4")["spark.sql.catalog.lakehouse.type"] == "jdbc"


def test_a_folder_of_symbolic_links_is_resolved_to_the_project(tmp_path):
    """Cosmos creates such a folder for each task."""
    project, links, away = (tmp_path / name for name in ("project", "links", "away"))
    for folder in (project, links, away):
        folder.mkdir()
    (project / "dbt_project.yml").write_text("name: shop")
    (links / "dbt_project.yml").symlink_to(project / "dbt_project.yml")
    for root, found in ((project, project), (links, project), (away, away), (away / ".." / "project", project)):
        assert project_folder(SimpleNamespace(project_root=str(root))) == found


def test_a_relative_warehouse_is_relative_to_the_project():
    relative, absolute = credentials(warehouse="./lakehouse"), credentials(warehouse="/data/lakehouse")
    for c in (relative, absolute):
        c.project_folder = Path("/shop")
    assert relative.catalog_file == Path("/shop/lakehouse/catalog.db")
    assert absolute.catalog_file == Path("/data/lakehouse/catalog.db")
    assert relative.spark_confs("4.1.4")["spark.sql.catalog.lakehouse.warehouse"] == "/shop/lakehouse"


def test_the_catalog_is_dbts_database():
    c = credentials(method="session", catalog="lake")
    assert (c.database, c.schema, c.host, c.folder) == ("lake", "analytics", None, None)
    assert dict(c.connection_info(with_aliases=True))["catalog"] == "lake"


def test_a_thrift_server_gets_the_cache_setting_on_connecting():
    c = credentials(method="thrift", host="h", port=10000, user="u", catalog="lake")
    assert c.server_side_parameters["spark.sql.catalog.lake.cache-enabled"] == "false"


@pytest.mark.parametrize(
    ("profile", "server"),
    [
        ({"host": "h"}, Remote("h", 15002)),
        ({"host": "h", "port": 443, "token": "t;", "use_ssl": True, "user": "u"}, Remote("h", 443, True, "t;", "u")),
        ({"remote": "sc://h:443/;use_ssl=true;token=t%3B;user_id=u"}, Remote("h", 443, True, "t;", "u")),
        ({"remote": "sc://h/;x-cluster-id=1"}, Remote("h", headers={"x-cluster-id": "1"})),
    ],
)
def test_a_spark_connect_server_is_configured_by_fields_or_connection_string(profile, server):
    c = credentials(method="connect", catalog="lake", **profile)
    assert c.remote_server == server
    shown = dict(c.connection_info())
    assert (shown["host"], shown["port"], shown["method"]) == (server.host, server.port, "connect")
    assert "t;" not in str(shown) and "t%3B" not in str(shown)


@pytest.mark.parametrize("host", ["spark.example.com", "10.0.0.1", "::1"])
def test_hosts_of_spark_connect_servers(host):
    assert credentials(method="connect", host=host, catalog="lake").remote_server.host == host


@pytest.mark.parametrize("method", ["session", "connect"])
def test_a_session_factory_needs_no_address(method):
    c = credentials(method=method, catalog="lake", session_factory="ours:session")
    shown = dict(c.connection_info())
    assert shown["session_factory"] == "ours:session"
    assert not {"host", "port", "use_ssl"} & shown.keys()


def test_connection_info_of_a_spark_connect_server():
    c = credentials(method="connect", catalog="lake", remote="sc://h:1/;use_ssl=true;token=s3cret;x-key=s3cret")
    shown = dict(c.connection_info())
    assert (shown["host"], shown["port"], shown["use_ssl"], shown["database"]) == ("h", 1, True, "lake")
    assert "s3cret" not in str(shown)


def test_spark_connect_needs_no_cache_setting_in_the_profile():
    c = credentials(method="connect", host="h", catalog="lake")
    assert list(c.server_side_parameters) == ["spark.sql.ansi.enabled"]


@pytest.mark.parametrize(("given", "kept"), [({}, "false"), ({"spark.sql.ansi.enabled": True}, "true")])
def test_ansi_is_off_unless_the_profile_turns_it_on(given, kept):
    assert (
        credentials(catalog="lake", server_side_parameters=given).server_side_parameters["spark.sql.ansi.enabled"]
        == kept
    )


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ({}, "has no `catalog`. .*`catalog: lake`.*`warehouse: ./lakehouse`"),
        ({"schema": None, "warehouse": "w"}, "has no `schema`"),
        ({"method": "thrift", "host": "h", "port": 1}, "has no `catalog`"),
        *(
            ({"schema": schema, "warehouse": "w"}, f"`schema` is '{schema}': expected only the name of a schema")
            for schema in ("lakehouse.analytics", "a..b", "a. ", "", " ")
        ),
        ({"catalog": "lake.sales"}, "`catalog` is 'lake.sales': expected only the name of a catalog, without dots"),
        *(
            ({"warehouse": url}, f"`warehouse` is '{url}': expected the path of a folder on this machine")
            for url in ("s3://bucket/lake", "file:///srv/lake", "hdfs:/lake", "", " ")
        ),
        ({"method": "thrift", "catalog": "lake"}, "needs a `host`"),
        ({"host": "h", "port": 10000, "catalog": "lake"}, "has `host`, `port`, but no `method`"),
        ({"port": 10000, "warehouse": "w"}, "has `port`, but no `method`"),
        ({"catalog": "spark_catalog", "warehouse": "w"}, "`catalog` is 'spark_catalog', and `warehouse` is set"),
        ({"method": "thrift", "host": "h", "warehouse": "w"}, "needs `method: session`"),
        ({"method": "connect", "catalog": "lake"}, "needs a `host`.*or set `remote` to Spark's connection string"),
        ({"method": "connect", "catalog": "lake", "remote": "h:15002"}, "`remote` cannot be read: .* Expected: sc://"),
        (
            {"method": "connect", "catalog": "lake", "remote": "sc://h", "port": 1},
            "has `remote` together with `port`: expected one or the other",
        ),
        ({"method": "session", "catalog": "lake", "remote": "sc://h"}, "`remote` needs `method: connect`"),
        (
            {"method": "thrift", "catalog": "lake", "session_factory": "ours:session"},
            "has `session_factory` and `method: thrift`",
        ),
        *(
            ({"catalog": "lake", "session_factory": "ours:session", **other}, f"together with `{next(iter(other))}`")
            for other in ({"warehouse": "w"}, {"host": "h", "method": "connect"}, {"port": 1, "method": "connect"})
        ),
        *(
            ({"method": "connect", "catalog": "lake", "host": host}, f"`host` is '{host}': expected only the name or ")
            for host in ("http://spark.example.com", "sc://h", "https://h:15002/", "h:15002", "h/path")
        ),
    ],
)
def test_missing_or_invalid_fields_are_named_with_the_fix(profile, message):
    with pytest.raises(DbtRuntimeError, match=message):
        SparkIcebergCredentials.from_dict(SparkIcebergCredentials.translate_aliases({"schema": "analytics", **profile}))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("warehous", "warehouse"),
        ("shema", "schema"),
        ("catlog", "catalog"),
        ("metadata_raeder", "metadata_reader"),
        ("thread", "threads"),
    ],
)
def test_a_mistyped_field_is_named_with_the_right_spelling(written, meant):
    with pytest.raises(DbtRuntimeError, match=f"unknown fields:\n *- `{written}`: did you mean `{meant}`"):
        credentials(**{"catalog": "lake", written: "x"})


def test_other_fields_of_dbt_or_the_user_are_left_alone():
    c = credentials(catalog="lake", threads=4, type="spark_iceberg", target="dev", env="test", location="home")
    assert c.catalog == "lake"


def test_a_missing_package_is_named_as_an_extra(monkeypatch):
    monkeypatch.setattr("dbt.adapters.spark.connections.hive", None)
    with pytest.raises(DbtRuntimeError, match=r"`pip install dbt-spark-iceberg\[PyHive\]`"):
        credentials(method="thrift", host="h", catalog="lake")


@pytest.mark.parametrize("own", ["spark.sql.catalog.lakehouse.uri", "spark.sql.catalog.lakehouse.type"])
def test_another_catalog_has_no_file_in_the_warehouse(own):
    assert credentials(warehouse="w").catalog_file == Path.cwd() / "w" / "catalog.db"
    assert credentials(warehouse="w", server_side_parameters={own: "x"}).catalog_file is None


def test_an_unknown_reader_is_refused():
    with pytest.raises(ValidationError, match="guess"):
        credentials(warehouse="w", metadata_reader="guess")


def test_no_secret_is_shown():
    c = credentials(
        method="http",
        host="h",
        cluster="c",
        token="s3cret",
        password="s3cret",
        catalog="lake",
        pyiceberg={"lake": {"token": "s3cret"}},
        server_side_parameters={"spark.sql.catalog.lake.token": "s3cret"},
    )
    assert "s3cret" not in str(list(c.connection_info(with_aliases=True)))


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        (
            {"method": "sesion"},
            "^`method` is 'sesion': expected one of 'thrift', 'http', 'odbc', 'session', 'connect'",
        ),
        ({"metadata_reader": "pyicberg"}, "^`metadata_reader` is 'pyicberg': expected one of 'auto', 'pyiceberg', "),
        ({"warehouse": 5}, "^`warehouse` is of type int: expected text"),
        ({"server_side_parameters": "spark.x=1"}, "^`server_side_parameters` is of type str: expected a mapping\\."),
        ({"pyiceberg": {"lake": 5}}, "^`pyiceberg.lake` is of type int: expected a mapping\\."),
        ({"password": 4711}, "^`password` is of type int: expected text [^4]*$"),
    ],
)
def test_an_invalid_value_is_named_with_its_field(profile, message):
    with pytest.raises(ValidationError) as raised:
        credentials(**{"warehouse": "w", **profile})
    assert re.search(message, raised.value.message)
