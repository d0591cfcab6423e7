"""A port on which a server other than Spark Connect responds."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.spark.connect.session import open_connect

OTHERS = {
    "a web server": b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    "a server that hangs up": b"",
}


@pytest.fixture(params=OTHERS.values(), ids=list(OTHERS))
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    """The port of a server that sends the same response to every client."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return  # the socket is closed
                with client, suppress(OSError):
                    client.recv(1024)
                    client.sendall(request.param)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


def test_the_error_says_that_it_is_not_a_spark_connect_server(port):
    profile = {"method": "connect", "host": "127.0.0.1", "port": port, "database": "lake", "schema": "s"}
    with pytest.raises(DbtRuntimeError) as caught:
        open_connect(SparkIcebergCredentials.from_dict(profile))
    assert f"The Spark Connect server at 127.0.0.1:{port}" in caught.value.msg
    assert "StatusCode" not in caught.value.msg
