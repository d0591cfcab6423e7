"""The flights project on the cluster. Each connection method continues where the previous one stopped."""

from __future__ import annotations

import itertools
import shutil

import pytest
import yaml

from integration_tests import land_flights
from tests.functional.flights.test_flights import OURS, PROJECT
from tests.functional.incremental.shop import CATALOG

from .places import ProcessShop

pytestmark = pytest.mark.thorough

DAYS = 2


class Flights(ProcessShop):
    """A copy of the project, with its own profiles."""

    def use(self, target):
        settings = {**target.get("server_side_parameters", {}), "spark.sql.session.timeZone": "UTC"}
        schemas = {"dev": "analytics", "rebuild": "rebuild"}
        outputs = {
            name: {**target, "schema": schema, "server_side_parameters": settings} for name, schema in schemas.items()
        }
        self.write("profiles.yml", yaml.safe_dump({"flights": {"target": "dev", "outputs": outputs}}))


@pytest.fixture(scope="package")
def flights(cluster, outside):
    ignored = shutil.ignore_patterns("target", "logs", "lakehouse", "__pycache__")
    shutil.copytree(PROJECT, cluster.folder / "flights", ignore=ignored)
    written = (cluster.folder / "flights" / "dbt_project.yml").read_text()
    project = Flights(cluster.folder / "flights", {}, "analytics", outside)
    project.write("dbt_project.yml", written)
    land_flights.create_tables(outside, f"{CATALOG}.ops")
    return project


@pytest.fixture(scope="package")
def days():
    return iter(land_flights.read_landings())


def test_the_flights_equal_their_rebuild(place, flights, days):
    flights.use(place.target)
    for landing in itertools.islice(days, DAYS):
        land_flights.land(flights.session, f"{CATALOG}.ops", landing)
    found = flights.dbt("build")
    assert found.success, found.printed[-3000:]
    flights.run("--full-refresh", "--target", "rebuild")
    for model in OURS:
        ours, rebuilt = (flights.session.table(f"{CATALOG}.{schema}.{model}") for schema in ("analytics", "rebuild"))
        assert ours.count() > 0
        assert ours.exceptAll(rebuilt).union(rebuilt.exceptAll(ours)).collect() == []
