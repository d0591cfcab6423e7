"""Makes a class data archive: a Spark that executes the kinds of statements of this package, and then ends.

    python -m iceberg_incremental.jvm.training

Standard input: the fields of the Archive as a JSON object.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from . import jars, java
from .archive import Archive
from .command import APPLICATION, COMPILER, SUBMIT
from .launch import connect, other_start, planned, start
from .workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOW = 19
"""The lowest priority."""
_HEAP = "-Xmx512m"
_ICEBERG, _SQLITE = "iceberg-spark-runtime", "sqlite-jdbc"
_ANOTHER = "another process is making one"
_MOST_FAILED = 3
"""The number of statements that an older release of Iceberg may lack. Without their classes, the archive is of use."""
_ABANDONED = 3600
"""The age in seconds from which a folder of training is that of a process that was killed."""

# The statements of a first build, of runs, of `ip_maintain` and of the listings of dbt.
STATEMENTS = (
    "create namespace if not exists lake.t",
    "create table lake.t.source (id bigint, day date, at timestamp, name string, amount decimal(10, 2), d double) "
    "using iceberg partitioned by (day) tblproperties ('format-version' = '3', 'write.delete.mode' = 'merge-on-read', "
    "'write.merge.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read')",
    "insert into lake.t.source select id, date_add(date '2026-01-01', cast(id % 3 as int)), timestamp '2026-01-01', "
    "concat('n', id % 7), id, id / 3 from range(1000)",
    "create or replace table lake.t.model using iceberg tblproperties ('format-version' = '3') as "
    "select day, name, count(*) as n, sum(amount) as amount, max(d) as d from lake.t.source group by day, name",
    "alter table lake.t.model set tblproperties ('write.wap.enabled' = 'true')",
    "update lake.t.source set amount = amount + 1 where id % 100 = 3",
    "delete from lake.t.source where id = 7",
    "merge into lake.t.source t using (select id + 990 as id, date '2026-01-02' as day, timestamp '2026-01-02' as at, "
    "'m' as name, 1.5 as amount, 2d as d from range(20)) s on t.id = s.id "
    "when matched then update set amount = s.amount when not matched then insert *",
    "set spark.wap.branch = staged",
    "set `spark.sql.iceberg.snapshot-property.ip.checkpoint` = {}",
    "delete from lake.t.model where exists (select 1 from lake.t.source s where s.day = model.day and s.id < 10)",
    "insert into lake.t.model select day, name, count(*), sum(amount), max(d) from lake.t.source where id < 10 "
    "group by day, name",
    "reset `spark.sql.iceberg.snapshot-property.ip.checkpoint`",
    "reset spark.wap.branch",
    "call lake.system.fast_forward('t.model', 'main', 'staged')",
    "alter table lake.t.model drop branch staged",
    "create or replace view lake.t.shown as select * from lake.t.model where n > 1",
    "create or replace temporary view changes as select * from lake.t.source "
    "where _last_updated_sequence_number > 1 and day between date '2026-01-01' and date '2026-01-03'",
    "select name from (select name, row_number() over (partition by name order by at, id) as place from changes) "
    "where place = 1",
    "select a.id, b.n from changes a left join lake.t.model b on a.day <=> b.day and a.name = b.name "
    "where a.id in (select max(id) from lake.t.source group by name) order by 1 limit 5",
    "select count(distinct name), count(*), min(day), max(at), sum(d), collect_list(name) from changes",
    "select * from lake.t.source.snapshots order by committed_at desc",
    "select content, file_path, record_count, partition from lake.t.source.all_files",
    "select id from lake.t.source except all select id from changes union all select 1 intersect select 2",
    "show tables in lake.t",
    "show views in lake.t",
    "show tblproperties lake.t.model",
    "show create table lake.t.model",
    "describe table extended lake.t.model",
    "show namespaces in lake",
    "explain extended select day, sum(amount) from lake.t.source group by day",
    "insert overwrite lake.t.model select * from lake.t.model where n = 2",
    "alter table lake.t.model add column more struct<a: int, b: array<string>>",
    "call lake.system.rewrite_data_files(table => 't.source', options => map('min-input-files', '2'))",
    "call lake.system.expire_snapshots(table => 't.source', older_than => timestamp '2020-01-01')",
)
DROPS = (
    "truncate table lake.t.model",
    "drop table lake.t.model",
    "drop view lake.t.shown",
    "drop table lake.t.source",
    "drop namespace lake.t",
)


class CannotMakeError(Exception):
    """An archive cannot be made. The text is the reason."""


def warm_up(settings: Mapping[str, str]) -> Archive:
    """Download the jars of these settings of Spark, make the archive for them, and return it.

    Waits for another process that makes an archive. Raises CannotMakeError, and IncrementalError if Spark does not
    start.
    """
    if reason := other_start(os.environ):
        raise CannotMakeError(reason)
    found, _ = java.find()
    if jars.missing(settings):
        with tempfile.TemporaryDirectory() as folder:
            start(planned(found, settings).command, Path(folder), None).end()
    archive = planned(found, jars.in_place(settings, os.environ)).archive
    if isinstance(archive, str):
        raise CannotMakeError(archive)
    make(archive, wait=True)
    return archive


def make(archive: Archive, *, wait: bool) -> None:
    """Make an archive, unless it exists. ``wait``: whether to wait for another process that makes one.

    Raises CannotMakeError.
    """
    if archive.exists:
        return
    if reason := archive.hindrance():
        raise CannotMakeError(reason)
    try:
        with archive.alone(wait=wait) as alone:
            if not alone:
                raise CannotMakeError(_ANOTHER)
            if not archive.exists:
                _remove_abandoned(archive.file.parent)
                _make(archive)
    except Exception as error:
        reason = str(error).partition("\n")[0]
        if reason != _ANOTHER:  # whatever else it is, not each run must try it again
            archive.failed(reason)
        raise CannotMakeError(reason) from error


def _make(archive: Archive) -> None:
    with tempfile.TemporaryDirectory(prefix="training-", dir=archive.file.parent) as name:
        folder = Path(name)
        made = folder / "made.jsa"
        _make_base(archive, folder)
        options = (*archive.in_making(made), *COMPILER[Workload.SHORT], *archive.options, _HEAP)
        class_path = ("-cp", os.pathsep.join(archive.class_path))
        jar_names = [Path(entry).name for entry in archive.class_path]
        _train([_java(archive), *options, *class_path, SUBMIT, APPLICATION], jar_names, folder)
        if not made.is_file():
            raise CannotMakeError(f"Java wrote no archive: {_last_line(folder)}")
        mapped = ("-Xshare:on", f"-XX:SharedArchiveFile={made}", *archive.options)
        _run_java(archive, [*mapped, *class_path, "-version"])
        archive.publish(made)


def _make_base(archive: Archive, folder: Path) -> None:
    """Make the archive of Java's own classes, if the installation has none. Raises CannotMakeError."""
    base = archive.base
    if base is None or base.is_file():
        return
    made = folder / "base.jsa"
    _run_java(archive, ["-Xshare:dump", *archive.base_options, f"-XX:SharedArchiveFile={made}"])
    made.replace(base)


def _java(archive: Archive) -> str:
    return str(archive.java_home / "bin" / "java")


def _run_java(archive: Archive, options: Sequence[str]) -> None:
    """Run a JVM until it ends. Raises CannotMakeError if it fails."""
    done = subprocess.run([_java(archive), *options], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotMakeError(f"Java failed: {(done.stdout + done.stderr).strip()[-500:]}")


def _remove_abandoned(folder: Path) -> None:
    """Remove the folders of processes that were killed."""
    for each in folder.glob("training-*"):
        with suppress(OSError):
            if time.time() - each.stat().st_mtime > _ABANDONED:
                shutil.rmtree(each)


def _train(command: list[str], jar_names: Sequence[str], folder: Path) -> None:
    """Run Spark in a folder until it has executed all statements. ``jar_names``: the jars on its class path."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    has_iceberg, has_sqlite = (any(jar in name for name in jar_names) for jar in (_ICEBERG, _SQLITE))
    settings = jars.local_files(jar_names) | _settings(folder, has_iceberg=has_iceberg, has_sqlite=has_sqlite)
    with (folder / "output.log").open("wb") as output:
        jvm = start(command, folder, output)
        try:
            conf = SparkConf().setAll(list(settings.items()))
            context = SparkContext(conf=conf, gateway=connect(jvm))
            _execute(SparkSession(context), has_iceberg=has_iceberg)
        finally:
            jvm.end()


def _execute(session: SparkSession, *, has_iceberg: bool) -> None:
    """Execute all statements. Without Iceberg on the class path, as far as Spark alone can."""
    first = (
        [*STATEMENTS] if has_iceberg else [each.replace("lake.", "").replace("iceberg", "orc") for each in STATEMENTS]
    )
    errors = [error for statement in first if (error := _error_of(session, statement)) is not None]
    session.range(3).localCheckpoint(eager=False).createOrReplaceTempView("held")
    errors += [error for each in ("table held", *DROPS) if (error := _error_of(session, each)) is not None]
    if has_iceberg and len(errors) > _MOST_FAILED:
        raise CannotMakeError(f"{len(errors)} statements failed, such as: {errors[0]}")


def _error_of(session: SparkSession, statement: str) -> str | None:
    """The first line of the error of a statement. None if it succeeds."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        session.sql(statement).collect()
    except (Py4JError, PySparkException) as error:
        return str(error).partition("\n")[0]
    return None


def _settings(folder: Path, *, has_iceberg: bool, has_sqlite: bool) -> dict[str, str]:
    settings = {
        "spark.master": "local[2]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.log.level": "FATAL",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(folder / "spark"),
    }
    if not has_iceberg:
        return settings
    lake = "spark.sql.catalog.lake"
    jdbc = {
        f"{lake}.type": "jdbc",
        f"{lake}.uri": f"jdbc:sqlite:{folder / 'lake.db'}",
        f"{lake}.jdbc.schema-version": "V1",
    }
    return settings | {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        lake: "org.apache.iceberg.spark.SparkCatalog",
        f"{lake}.warehouse": str(folder / "lake"),
        f"{lake}.cache-enabled": "false",
        "spark.sql.defaultCatalog": "lake",
        **(jdbc if has_sqlite else {f"{lake}.type": "hadoop"}),
    }


def _last_line(folder: Path) -> str:
    lines = (folder / "output.log").read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "no output")


if __name__ == "__main__":
    os.nice(_LOW)
    given = json.load(sys.stdin)
    with suppress(CannotMakeError):
        make(
            Archive(Path(given["java_home"]), tuple(given["options"]), tuple(given["class_path"]), Path(given["file"])),
            wait=False,
        )
