from __future__ import annotations

import pytest
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql.connect.client import DefaultChannelBuilder

from dbt.adapters.spark_iceberg.profile.remote import Remote


@pytest.mark.parametrize(
    ("text", "remote"),
    [
        ("sc://h", Remote("h")),
        ("sc://h:15003/", Remote("h", 15003)),
        ("sc://[::1]:1/;use_ssl=true", Remote("::1", 1, use_ssl=True)),
        ("sc://h/;token=a%3Bb%3D;user_id=me", Remote("h", token="a;b=", user="me")),
        ("sc://h/;x-cluster-id=0-1", Remote("h", headers={"x-cluster-id": "0-1"})),
    ],
)
def test_a_connection_string(text, remote):
    assert Remote.parse(text) == remote


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("h:15002", "does not start with sc://"),
        ("http://h", "does not start with sc://"),
        ("sc://:1", "does not start with sc:// and a host"),
        ("sc://h:0x1", "port is not a number"),
        ("sc://h/path", "followed by something other than /;key=value"),
        ("sc://h/path/;token=t", "followed by something other than /;key=value"),
        ("sc://h?token=t", "followed by something other than /;key=value"),
        ("sc://h/;token", "not a list of key=value"),
        ("sc://h/;use_ssl=1", "use_ssl is neither"),
        ("sc://u:p@h/", "user_id="),
    ],
)
def test_an_invalid_connection_string_is_refused_without_showing_it(text, why):
    with pytest.raises(DbtRuntimeError, match="Expected: sc://host:port") as caught:
        Remote.parse(text)
    assert why in caught.value.msg
    assert text not in str(caught.value)


def test_a_session_is_not_shared():
    with pytest.raises(DbtRuntimeError, match="each dbt thread must have its own session"):
        Remote.parse("sc://h/;session_id=6ba7b810-9dad-11d1-80b4-00c04fd430c8")


def test_sparks_client_parses_the_url():
    remote = Remote("::1", 15003, use_ssl=True, token="a;b=/c d", user="it's", headers={"x-cluster-id": "0-1"})
    read = DefaultChannelBuilder(remote.url("dbt"))
    assert (read.endpoint, read.use_ssl, read.token, read.userId) == ("[::1]:15003", True, "a;b=/c d", "it's")
    assert read.metadata() == [("x-cluster-id", "0-1")]
    assert read.userAgent.startswith("dbt ")
    assert "a;b" not in repr(remote)
