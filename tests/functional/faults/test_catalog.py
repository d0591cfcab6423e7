"""Catalogs with faults: no row is lost or doubled, a failed run says what to do, and the next one is right.

``CATALOG_FAULTS`` sets how many faults each catalog has: a few in the ordinary tests, 250 in ``make chaos``.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from .pipeline import Pipeline
from .proxy import OF_ANY_SERVER, Kind
from .sweep import Protocol, sweep

FAULTS = int(os.environ.get("CATALOG_FAULTS", "7"))

REST = Protocol(
    name="a REST catalog",
    write=r"^(POST|DELETE) \S*/tables/{table}(__ip_\w+)?\b\S* |^POST \S*/tables .*\"name\":\"{table}\"",
    read=r"^(GET|HEAD) \S*/tables/{table}(__ip_\w+)?\b",
    any=r"^(GET|HEAD|POST|DELETE) /v1/",
)
# The protocol is binary; what a statement is about shows in its parameters.
POSTGRESQL = Protocol(
    name="PostgreSQL",
    write=r"/{table}(__ip_\w+)?/metadata/",
    read=r"^(?!.*/metadata/).*\b{table}(__ip_\w+)?\b",
    any=r".",
    kinds=OF_ANY_SERVER,
)


def test_a_rest_catalog_whose_answers_are_lost(shop_on_rest, rest_proxy):
    lost = (Kind.CUT, Kind.HALF_ANSWERED, Kind.UNAVAILABLE_AFTERWARDS, Kind.GATEWAY_TIMEOUT)
    few = Pipeline(shop_on_rest, ("merged", "created", "rebuilt"))

    assert sweep(few, rest_proxy, replace(REST, kinds=lost), 3).failures


@pytest.mark.thorough
def test_a_rest_catalog(shop_on_rest, rest_proxy, record_property):
    tally = sweep(Pipeline(shop_on_rest), rest_proxy, REST, FAULTS)
    record_property("faults_rest", f"{REST.name}: {tally}")


@pytest.mark.thorough
def test_postgresql(on_postgresql, postgresql_proxy, record_property):
    tally = sweep(on_postgresql, postgresql_proxy, POSTGRESQL, FAULTS)
    record_property("faults_postgresql", f"{POSTGRESQL.name}: {tally}")
