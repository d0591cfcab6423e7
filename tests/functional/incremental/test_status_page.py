"""The status page of a real project. The operation writes it correctly, without a Spark statement."""

from __future__ import annotations

import pytest

from tests.unit.incremental.operations.status_page.test_page import Parsed

COPY = "select * from {{ ip_changes(source('raw', 'plays')) }}"


def played(account: int, days_ago: int) -> str:
    return f"({account}, now() - interval {days_ago} days)"


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.core
def test_the_page_of_a_project(shop, asked_of_spark):
    plays = shop.source("plays", "account int, played_at timestamp")
    shop.declare("plays", config={"event_time": "played_at"})
    rated = shop.source("rated")
    shop.model("copied", COPY)
    shop.model("again", "select * from {{ ip_changes(ref('copied')) }}")
    shop.model("ratings", "select * from {{ ip_changes(source('raw', 'rated')) }}")
    shop.insert(plays, *(played(n, 0) for n in range(30)))
    shop.insert(rated, "(1, 'a')", "(2, 'b')")
    shop.run()
    shop.insert(plays, played(1, 9), played(2, 0))
    shop.run("--select", "copied")
    shop.insert(plays, played(3, 0))
    shop.sql(f"delete from {rated} where id = 1")
    output = shop.folder / "status.html"
    asked_of_spark.clear()

    found = shop.operation("ip_status", format="html", output=str(output))
    assert found.success, found.printed[-2000:]
    assert f"3 models on {output}" in found.printed
    assert asked_of_spark == []

    page = Parsed(output.read_text(encoding="utf-8"))
    text = words(page.text)
    assert "0 of 3 models 2 behind, 1 failing" in text
    assert "dbt run --full-refresh --select ratings" in text
    assert "All known runs together read 52 % of the rows in the sources: 32 of 62 rows." in text
    assert "The largest lateness is 9 days, in 3 commits." in text
    error = next(each["error"] for each in shop.project_status()["models"] if each["error"])
    assert words(error) in text


def test_the_page_of_some_models(shop):
    plays = shop.source("plays", "account int, played_at timestamp")
    shop.model("copied", COPY)
    shop.model("other", COPY)
    shop.insert(plays, played(1, 0))
    output = shop.folder / "status.html"
    assert shop.operation("ip_status", format="html", output=str(output), select="copied").success
    text = words(Parsed(output.read_text(encoding="utf-8")).text)
    assert "0 of 1 model 1 to be rebuilt" in text
    assert "other" not in text


def test_invalid_arguments_write_nothing(shop):
    shop.source("plays", "account int, played_at timestamp")
    shop.model("copied", COPY)
    for arguments, expected in (
        ({"format": "html"}, "without output"),
        ({"format": "json", "output": "status.html"}, "output is 'status.html' and format is 'json'"),
        ({"format": "html", "output": "no/such/folder/status.html"}, "was not written"),
    ):
        found = shop.operation("ip_status", **arguments)
        assert not found.success
        assert expected in f"{found.printed}{found.exception}"
