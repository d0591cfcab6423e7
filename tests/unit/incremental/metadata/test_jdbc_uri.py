"""JDBC URLs, converted to SQLAlchemy URLs."""

from __future__ import annotations

import pytest
from sqlalchemy import make_url

from iceberg_incremental.metadata.catalog_properties import UnmappableUri, sqlalchemy_uri


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("jdbc:sqlite:file:/data/catalog.db", "sqlite:///file:/data/catalog.db?mode=rw&uri=true"),
        ("jdbc:sqlite:/data/catalog.db", "sqlite:///file:/data/catalog.db?mode=rw&uri=true"),
        ("jdbc:sqlite:lake/catalog.db", "sqlite:///file:lake/catalog.db?mode=rw&uri=true"),
        ("jdbc:sqlite:file:lake/catalog.db", "sqlite:///file:lake/catalog.db?mode=rw&uri=true"),
        ("jdbc:sqlite:file:///data/catalog.db", "sqlite:///file:///data/catalog.db?mode=rw&uri=true"),
        ("jdbc:sqlite:/data/a b/50%/c.db", "sqlite:///file:/data/a%20b/50%25/c.db?mode=rw&uri=true"),
        ("jdbc:sqlite:file:/data/a%20b/c.db", "sqlite:///file:/data/a%20b/c.db?mode=rw&uri=true"),
        ("jdbc:sqlite:/data/c.db?journal_mode=WAL", "sqlite:///file:/data/c.db?mode=rw&uri=true"),
    ],
)
def test_sqlite(uri: str, expected: str):
    assert sqlalchemy_uri(uri, {}) == expected


@pytest.mark.parametrize(
    ("uri", "driver", "expected"),
    [
        ("jdbc:postgresql://db:5433/ice", {}, "postgresql+psycopg2://db:5433/ice"),
        ("jdbc:postgresql://db/ice", {"user": "me"}, "postgresql+psycopg2://me@db/ice"),
        ("jdbc:postgresql:ice", {}, "postgresql+psycopg2://localhost/ice"),
        ("jdbc:postgresql://db/", {"user": "me"}, "postgresql+psycopg2://me@db/me"),
        ("jdbc:postgresql://[::1]:5433/ice", {}, "postgresql+psycopg2://[::1]:5433/ice"),
        ("jdbc:postgresql://db/ice?user=a&password=b", {}, "postgresql+psycopg2://a:b@db/ice"),
        ("jdbc:postgresql://db/ice?user=a", {"user": "z", "password": "p"}, "postgresql+psycopg2://a:p@db/ice"),
        ("jdbc:postgresql://db/ice", {"user": "a@b", "password": "p/w:?#%é"},
         "postgresql+psycopg2://a%40b:p%2Fw%3A%3F%23%25%C3%A9@db/ice"),
        ("jdbc:postgresql://db/ice?sslmode=require&loggerLevel=OFF", {}, "postgresql+psycopg2://db/ice?sslmode=require"),
        ("jdbc:postgresql://db/ice?ssl=true", {}, "postgresql+psycopg2://db/ice?sslmode=verify-full"),
        ("jdbc:postgresql://db/ice?currentSchema=cat", {}, "postgresql+psycopg2://db/ice?options=-csearch_path%3Dcat"),
        ("jdbc:postgresql://a,b:5433/ice", {}, "postgresql+psycopg2:///ice?host=a%3A5432&host=b%3A5433"),
    ],
)  # fmt: skip
def test_postgresql(uri: str, driver: dict[str, str], expected: str):
    assert sqlalchemy_uri(uri, driver) == expected
    if "password" in driver:
        assert make_url(expected).password == driver["password"]


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("jdbc:sqlite::memory:", "in the memory of Spark's process"),
        ("jdbc:sqlite:file:x?mode=memory", "in the memory of Spark's process"),
        ("jdbc:mysql://me:secret@db/ice", "its uri is jdbc:mysql"),
        ("postgresql://db/ice", "not a JDBC URL"),
    ],
)
def test_other_databases_are_refused_without_showing_the_url(uri, reason):
    with pytest.raises(UnmappableUri, match=reason) as caught:
        sqlalchemy_uri(uri, {})
    assert "secret" not in str(caught.value)
