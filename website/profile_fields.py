"""The fields of a profile, with what each one means: the reference of the docs. In Markdown, links as from docs/."""

from __future__ import annotations

FIELDS = {
    "method": "how Spark is reached: `session` (default), in this process; `connect`, a Spark Connect server; "
    "`thrift`, `http`, `odbc`, as in dbt-spark ([where Spark runs](production.md))",
    "catalog": "the Spark catalog of the models, dbt's `database`; sources and models may name others",
    "schema": "the schema that dbt builds in",
    "warehouse": "with `session`: the folder of an [embedded lakehouse](lakehouse.md). A relative path starts at the "
    "folder of the dbt project. Leave it out for catalogs of your own",
    "host": "the server's name or address",
    "port": "the server's port: with `connect`, 15002 unless you name another; with `thrift`, usually `port: 10000`",
    "user": "the user, where the server asks for one",
    "token": "with `connect`, `http` and `odbc`: a token in place of a password",
    "use_ssl": "whether the connection uses TLS (default: `false`)",
    "remote": "with `connect`: Spark's connection string, `sc://host:port/;use_ssl=true;token=…`, in place of `host`, "
    "`port`, `token`, `use_ssl` and `user`",
    "connect_retries": "how often to try again to reach the server (default: 0)",
    "connect_timeout": "the pause before each of these, in seconds (default: 10)",
    "server_side_parameters": "Spark settings, catalogs included; they override every default",
    "metadata_reader": "how tables' metadata is read: `auto` (default), by PyIceberg, and by Spark where PyIceberg "
    "cannot; `pyiceberg`; `spark`",
    "pyiceberg": "PyIceberg's properties by catalog, where they cannot be derived from the Spark settings "
    "([catalogs](production.md#catalogs))",
    "poll_interval": "with `thrift`: the pause between two looks at a running statement, in seconds (default: 0.2)",
    "query_retries": "with `thrift`: how often a statement is sent again if the connection is lost (default: 0, as an "
    "INSERT could run twice)",
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
