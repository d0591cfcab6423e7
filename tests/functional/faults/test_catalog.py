"""Catalogs with faults: no row is lost or duplicated, a failed run states a fix, and the next run is correct.

``CATALOG_FAULTS`` sets the number of faults for each catalog: a few in the ordinary tests, 250 in ``make chaos``.
"""

from __future__ import annotations

import re

import pytest

from .pipeline import Pipeline
from .proxy import OF_ANY_SERVER, Fault, Kind
from .sweep import FAULTS, Protocol, sweep

REST = Protocol(
    name="a REST catalog",
    write=r"^POST \S*/tables/{table}(__ip_\w+)? |^POST \S*/tables .*\"name\":\"{table}\"",
    read=r"^(GET|HEAD) \S*/tables/{table}(__ip_\w+)?\b",
    any=r"^(GET|HEAD|POST|DELETE) /v1/",
)
COMMIT_TO_MERGED, COMMIT_TO_CREATED = (re.compile(rb"^POST \S*/tables/%s " % name) for name in (b"merged", b"created"))
# The protocol is binary. The parameters of a statement show which table it concerns.
POSTGRESQL = Protocol(
    name="PostgreSQL",
    write=r"/{table}(__ip_\w+)?/metadata/",
    read=r"^(?!.*/metadata/).*\b{table}(__ip_\w+)?\b",
    any=r".",
    kinds=OF_ANY_SERVER,
)


def test_a_rest_catalog_whose_answers_are_lost(shop_on_rest, rest_proxy):
    few = Pipeline(shop_on_rest, ("merged", "created"))
    published = Fault(Kind.CUT, COMMIT_TO_MERGED, at=4)  # after the creation of the branch, the INSERT and the DELETE
    made = Fault(Kind.UNAVAILABLE_AFTERWARDS, COMMIT_TO_CREATED)  # the client retries, and finds that the table exists

    assert few.struck(rest_proxy.having(published, made)) == {}

    assert published.was_met and made.was_met
    few.finish()


@pytest.mark.thorough
def test_a_rest_catalog(shop_on_rest, rest_proxy, record_property):
    tally = sweep(Pipeline(shop_on_rest), rest_proxy, REST, FAULTS)
    record_property("faults_rest", f"{REST.name}: {tally}")


@pytest.mark.thorough
def test_postgresql(on_postgresql, postgresql_proxy, record_property):
    tally = sweep(on_postgresql, postgresql_proxy, POSTGRESQL, FAULTS)
    record_property("faults_postgresql", f"{POSTGRESQL.name}: {tally}")
