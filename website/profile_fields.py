"""The descriptions of profile fields for docs/reference.md, as Markdown with links relative to docs/."""

from __future__ import annotations

FIELDS = {
    "method": "how dbt connects to Spark. `session` (default) runs Spark in dbt's process. `connect` uses a Spark "
    "Connect server. `thrift`, `http` and `odbc` work as in dbt-spark ([where Spark runs](production.md))",
    "catalog": "the default Spark catalog, which is dbt's `database`. Sources and models can use other catalogs",
    "schema": "the schema that dbt builds in",
    "warehouse": "with `session`: the folder of an [embedded lakehouse](lakehouse.md). A relative path is "
    "resolved from the folder of the dbt project. Omit this field if you configure your own catalogs",
    "host": "the name or address of the server",
    "port": "the port of the server. With `connect`, the default is 15002. With `thrift`, it is usually 10000",
    "user": "the user name, if the server requires one",
    "token": "with `connect`, `http` and `odbc`: a token instead of a password",
    "use_ssl": "whether the connection uses TLS (default: `false`)",
    "remote": "with `connect`: Spark's connection string, `sc://host:port/;use_ssl=true;token=…`, instead of `host`, "
    "`port`, `token`, `use_ssl` and `user`",
    "session_factory": "with `session` and `connect`: your own Python function that returns the SparkSession, as "
    "`package.module:function` ([a session of your own](production.md#a-session-of-your-own))",
    "connect_retries": "the number of retries if the server cannot be reached (default: 0)",
    "connect_timeout": "the delay before each retry, in seconds (default: 10)",
    "server_side_parameters": "Spark settings, including catalogs. They override all defaults",
    "metadata_reader": "what reads table metadata: `pyiceberg`, `spark`, or `auto` (default), which uses PyIceberg if "
    "it supports the catalog, and otherwise Spark",
    "pyiceberg": "PyIceberg's properties by catalog, if they cannot be derived from the Spark settings "
    "([catalogs](production.md#catalogs))",
    "poll_interval": "with `thrift`: the time between two checks of a running statement, in seconds (default: 0.2)",
    "query_retries": "with `thrift`: how often a statement is sent again after the connection is lost (default: "
    "0, because an INSERT could run twice)",
}
"""The fields that this adapter reads."""

OF_DBT_SPARK = (
    "auth",
    "cluster",
    "connection_string_suffix",
    "driver",
    "endpoint",
    "kerberos_service_name",
    "organization",
    "password",
    "query_timeout",
    "retry_all",
)
"""The fields that dbt-spark reads for its own connections."""
