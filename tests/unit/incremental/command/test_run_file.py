import json
from dataclasses import replace

import pytest

from iceberg_incremental.capture.run_plan import Action
from iceberg_incremental.command.run_file import CapturedRun, read_run
from iceberg_incremental.errors import ConfigError
from iceberg_incremental.table.checkpoint import Checkpoint, Position
from iceberg_incremental.table.shares import Share

from ..histories import FLIGHTS, UUID

FIRST = Checkpoint("job.lake.ops.flights", 1, "one", {"lake.ops.x": Position(UUID, 1, 1, 1000)}, target_snapshot_id=7)
SECOND = Checkpoint(
    "job.lake.ops.flights",
    2,
    "two",
    {"lake.ops.x": Position(UUID, 2, 2, 2000, continues=True, from_snapshot_id=1)},
    shares={"lake.ops.x": Share(1, 2, 3, 4)},
)
RUN = CapturedRun(
    "job.lake.ops.flights", FLIGHTS, UUID, Action.APPLY, 7, 0, "ip_2_0123456789ab", 7, FIRST, SECOND, keeps_columns=True
)
NOTHING = replace(RUN, action=Action.NOTHING, schema_id=None, branch=None, branch_from=None, checkpoint=None)


@pytest.mark.parametrize("run", [RUN, NOTHING, replace(RUN, head=None, captured_from=None)])
def test_a_run_is_read_as_it_was_written(run):
    assert read_run(json.dumps(run.to_document()), "run.json") == run


def broken(**changes):
    return json.dumps({**RUN.to_document(), **changes})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{}",
        broken(version=2),
        broken(action="leap"),
        broken(target={"table": "flights"}),
        broken(target={**RUN.to_document()["target"], "table": "flights"}),
        broken(branch_from="x"),
        broken(checkpoint={"version": 1}),
        broken(checkpoint=[]),
    ],
)
def test_invalid_text_is_refused(text):
    with pytest.raises(ConfigError, match=r"^run\.json does not contain a captured run"):
        read_run(text, "run.json")
