"""A server is killed while it runs a statement, and is restarted before the client gives up."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from tests.functional.incremental.shop import Outcome, Shop
from tests.functional.metadata import servers

from .conftest import target_on

ROWS = 30
# Each row takes the variable's time in ms, so that the server can be killed while the statement runs.
SLOW = """
    select id, v from {{ ip_changes(source('raw', 'events')) }}
    where reflect('java.lang.Thread', 'sleep', bigint({{ var('ms', 0) }})) is not null
"""


@pytest.mark.thorough
def test_the_next_run_repairs_a_run_that_lost_its_server(tmp_path, server_settings, outside):
    port, home = servers.free_port(), tmp_path / "server"
    shop = Shop(tmp_path / "shop", target_on(port), "lost", outside.session)
    events = shop.source("events")
    shop.model("copied", SLOW)
    found: list[Outcome] = []
    with servers.connect_process(home, port, server_settings) as process:
        shop.insert(events, "(0, 'first')")
        shop.run()
        shop.insert(events, *(f"({number}, 'next')" for number in range(1, ROWS)))
        run = threading.Thread(target=lambda: found.append(shop.dbt("run", "--vars", "{ms: 1000}")))
        at_work = servers.at_work(lambda: [home / "log"])
        run.start()
        servers.until(at_work)
        process.kill()
        process.wait()
    with servers.connect_process(home, port, server_settings):
        run.join(timeout=120)
        message = found[0].message("copied")
        assert "The connection to the Spark Connect server was lost." in message
        assert "it was not sent again" in message
        assert shop.rows(shop.built("copied")) == Counter([(0, "first")])
        shop.run()
        assert shop.rows(shop.built("copied")) == shop.rows(events)
