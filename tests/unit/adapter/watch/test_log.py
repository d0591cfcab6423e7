from __future__ import annotations

import io
import json
import re

from dbt.adapters.spark_iceberg.watch.log import Log


def test_json_has_dbts_format():
    stream = io.StringIO()
    Log(as_json=True, stream=stream).problem("NodeFailing", "a: no", node="a", failures=2)

    (line,) = stream.getvalue().splitlines()
    found = json.loads(line)
    assert found["data"] == {"node": "a", "failures": 2}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", found["info"].pop("ts"))
    assert found["info"] == {"name": "NodeFailing", "level": "error", "msg": "a: no"}


def test_text_has_the_time_and_the_message():
    stream = io.StringIO()
    Log(stream=stream).event("Stopped", "stopped", why="SIGTERM")

    assert re.fullmatch(r"\d\d:\d\d:\d\d  stopped\n", stream.getvalue())
