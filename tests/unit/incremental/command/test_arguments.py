import pytest

from iceberg_incremental.command.command_line import catalog_properties, parsed, request_of
from iceberg_incremental.errors import ConfigError
from iceberg_incremental.plan.policy import DEFAULT_ON_BREAK, Cause, OnBreak, OnRewrite, Policy, Strategy
from iceberg_incremental.table.history import TableName

from ..histories import FLIGHTS

CAPTURE = ["capture", "--target=lake.dev.staged", "--source=lake.ops.flights"]


def requested(*options):
    return request_of(parsed([*CAPTURE, *options]))


def test_a_capture_has_the_defaults_of_a_model():
    found = requested()
    assert found.target == TableName("lake", "dev", "staged")
    assert (found.name, found.policy) == ("job.lake.dev.staged", Policy())
    assert found.sources == ((FLIGHTS, "changes"),)
    assert found.keeps_columns and not found.full_refresh


def test_sources_keep_their_order():
    found = requested(
        "--as-of=lake.ops.carriers", "--changelog=lake.ops.airports", "--changelog-per-commit=lake.ops.gates"
    )
    assert [(table.name, read) for table, read in found.sources] == [
        ("flights", "changes"),
        ("carriers", "as_of"),
        ("airports", "changelog"),
        ("gates", "changelog_per_commit"),
    ]


def test_policies():
    found = requested(
        "--name=model.shop.staged",
        "--on-source-rewrite=upserts",
        "--on-history-break=expired=full_refresh",
        "--on-missing-checkpoint=full_refresh",
        "--max-snapshots-per-run=3",
        "--max-bytes-per-run=1000",
        "--full-refresh",
        "--on-schema-change=ignore",
    )
    assert found.name == "model.shop.staged"
    assert found.full_refresh and not found.keeps_columns
    policy = found.policy
    assert (policy.on_source_rewrite, policy.strategy) == (OnRewrite.UPSERTS, Strategy.MERGE)
    assert policy.on_history_break == {**DEFAULT_ON_BREAK, Cause.EXPIRED: OnBreak.FULL_REFRESH}
    assert policy.on_missing_checkpoint is OnBreak.FULL_REFRESH
    assert (policy.max_snapshots, policy.max_bytes) == (3, 1000)
    assert requested("--on-history-break=fail").policy.on_history_break == dict.fromkeys(Cause, OnBreak.FAIL)


def test_properties_of_catalogs():
    given = parsed([*CAPTURE, "--catalog-property=lake.uri=https://x/?a=b", "--catalog-property=lake.s3.region=eu"])
    assert catalog_properties(given) == {"lake": {"uri": "https://x/?a=b", "s3.region": "eu"}}


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        ["capture", "--target=lake.dev.staged"],
        [*CAPTURE, "--on-source-rewrite=upsert"],
        [*CAPTURE, "--on-history-break=expired=ignore"],
        [*CAPTURE, "--on-history-break=gone=fail"],
        [*CAPTURE, "--max-bytes-per-run=0"],
        [*CAPTURE, "--catalog-property=lake=x"],
        [*CAPTURE, "--format=text"],
        ["commit"],
    ],
)
def test_invalid_arguments(wrong, capsys):
    with pytest.raises(SystemExit) as stopped:
        parsed(wrong)
    assert stopped.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_a_name_has_three_parts():
    with pytest.raises(ConfigError, match=r"catalog\.namespace\.table"):
        request_of(parsed(["capture", "--target=staged", "--source=lake.ops.flights"]))
