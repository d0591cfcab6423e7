"""Tables on an S3-compatible server, written with S3FileIO and also read with PyIceberg. Includes tests with faults."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from moto.core.models import DEFAULT_ACCOUNT_ID as ACCOUNT
from moto.s3.models import s3_backends

from .conftest import BUCKET, Projects, bucket, s3
from .proxy import Proxy
from .sweep import FAULTS, Protocol, sweep

S3 = Protocol(
    name="S3",
    write=r"^(PUT|POST|DELETE) \S*/{table}(__ip_\w+)?/",
    read=r"^(GET|HEAD) \S*/{table}(__ip_\w+)?/",
    any=r"^(GET|HEAD|PUT|POST|DELETE) /",
)
# Amazon's SDK for Java signs Spark's requests. Arrow signs PyIceberg's requests with the SDK for C++.
READ_BY_PYICEBERG = [
    re.compile(rf"^GET \S*/{table}/metadata/\S*\.metadata\.json .*aws-sdk-cpp".encode(), re.DOTALL)
    for table in ("events", "appended", "merged", "applied")
]


@pytest.mark.thorough
@pytest.mark.parametrize("version", [2, 3])
def test_models_in_a_bucket(remote_projects: Projects, s3_port: int, s3_proxy: Proxy, tmp_path: Path, version: int):
    through = s3(s3_proxy.port, tmp_path / "catalog.db")
    shop = remote_projects.shop(f"bucket_v{version}", through, metadata_reader="pyiceberg")
    events = shop.source("events", "id int, v string", f"tblproperties ('format-version' = {version})")
    properties = {"tblproperties": {"format-version": version}}
    shop.model("appended", "select * from {{ ip_changes(source('raw', 'events')) }}", **properties)
    shop.model(
        "merged",
        "select id % 3 as id, max(v) as v from {{ ip_changes(ref('appended')) }} group by 1",
        **properties,
        incremental_strategy="merge",
        unique_key="id",
        aggregates_of_changes="allow",
    )
    shop.model(
        "applied",
        "select * from {{ ip_changelog(ref('merged'), unique_key='id') }}",
        **properties,
        incremental_strategy="apply_changes",
        unique_key="id",
    )
    shop.insert(events, "(0, 'a')", "(1, 'b')", "(2, 'c')")
    expected = {0: "a", 1: "b", 2: "c"}

    for number, letter in enumerate("-xyz"):
        if number:
            shop.insert(events, f"({number}, '{letter}')")
            expected[number % 3] = letter
        with s3_proxy.recording() as requests:
            found = shop.run()
        assert all(any(read.search(sent) for sent in requests) for read in READ_BY_PYICEBERG)
        assert shop.rows(shop.built("appended")) == shop.rows(events)
        assert shop.rows(shop.built("merged")) == shop.rows(shop.built("applied")) == Counter(expected.items())
        assert {found.ip(name)["epoch"] for name in ("appended", "merged", "applied")} == {number + 1}

    keys = [each.key for each in bucket(s3_port).objects.filter(Prefix=f"{tmp_path.name}/{shop.schema}/")]
    assert {key.split("/")[2] for key in keys} == {"appended", "merged", "applied"}
    assert not list(tmp_path.rglob("*.parquet"))


@pytest.mark.thorough
def test_orphan_files_in_a_bucket(remote_projects: Projects, s3_port: int, tmp_path: Path):
    shop = remote_projects.shop("orphans", s3(s3_port, tmp_path / "catalog.db"))
    events = shop.source("events")
    for name in ("one", "one_more"):
        shop.model(name, "select * from {{ ip_changes(source('raw', 'events')) }}")
    shop.insert(events, "(1, 'a')")
    shop.run()
    folder, objects = f"{tmp_path.name}/{shop.schema}", bucket(s3_port).objects
    before = {each.key for each in objects.filter(Prefix=f"{folder}/")}
    for name in ("one", "one_more", "other"):
        bucket(s3_port).put_object(Key=f"{folder}/{name}/data/orphan.parquet", Body=b"-")
    for key in s3_backends[ACCOUNT]["aws"].buckets[BUCKET].keys.values():
        key.last_modified -= timedelta(days=4)  # younger files may belong to commits in progress

    found = shop.operation("ip_maintain", orphan_files=True)

    assert found.success, found.printed[-3000:]
    assert found.printed.count("done: 1 orphan file removed") == 2
    assert "one_more (2 of 2): remove_orphan_files" in found.printed
    left = {each.key for each in objects.filter(Prefix=f"{folder}/")}
    assert left == before | {f"{folder}/other/data/orphan.parquet"}
    assert shop.rows(shop.built("one_more")) == shop.rows(events)


@pytest.mark.thorough
def test_an_object_store_with_faults(on_s3, s3_proxy: Proxy, record_property):
    tally = sweep(on_s3, s3_proxy, S3, FAULTS)
    record_property("faults_s3", f"{S3.name}: {tally}")
