"""What each engine does, as data: the tests check it, and docs/engines.md is generated from it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

RIGHT = "right"
"""The rows are those of Spark SQL."""

STRATEGIES = ("append", "merge", "apply_changes", "auto", "history")
"""The strategies of the models that read the tables of an engine. ``merge`` has ``on_source_rewrite: upserts``."""
QUESTIONS = ("count", "filter", "rows", "time travel", "compacted")
"""What an engine reads from the tables of models."""


LISTS = Path(__file__).parents[3] / "requirements" / "engines"
GO_MODULES = Path(__file__).parent / "programs" / "iceberg_go" / "go.mod"


@dataclass(frozen=True)
class Engine:
    """An engine. ``title``: its name on the page; ``environment``: its list in requirements/engines.

    ``package``: the package, the artifact of Maven Central or the module of Go whose version is that of the engine;
    ``jars``: what it needs from Maven Central, as ``group:artifact:version``, with ``:type`` for an archive.
    """

    title: str
    environment: str
    package: str
    jars: tuple[str, ...] = ()

    @property
    def is_small(self) -> bool:
        """Whether `make test-more` starts it too."""
        return self.environment == "small"

    @property
    def version(self) -> str:
        """The version with which it is tested."""
        if self.package.startswith("github.com/"):
            (found,) = re.findall(rf"{self.package} v(\S+)", GO_MODULES.read_text(encoding="utf-8"))
            return str(found)
        for jar in self.jars:
            _, artifact, version, *_ = jar.split(":")
            if artifact == self.package:
                return version
        listed = (LISTS / f"{self.environment}.txt").read_text(encoding="utf-8")
        (found,) = re.findall(rf"^{re.escape(self.package)}==(\S+)", listed, re.MULTILINE)
        return str(found)

    @property
    def shown(self) -> str:
        """Its name on the page with its version, and with the version of Iceberg's library if it runs with several."""
        found = [jar.split(":")[2] for jar in self.jars if jar.startswith("org.apache.iceberg:")]
        return ", Iceberg ".join([f"{self.title} {self.version}", *found])


ENGINES = {
    "pyiceberg": Engine("PyIceberg", "small", "pyiceberg"),
    "polars": Engine("Polars", "small", "polars"),
    "duckdb": Engine("DuckDB", "small", "duckdb"),
    "daft": Engine("Daft", "large", "daft"),
    "clickhouse": Engine("ClickHouse", "large", "chdb-core"),
    "datafusion": Engine("DataFusion", "large", "datafusion"),
    "sail": Engine("Sail", "large", "pysail"),
    "dlt": Engine("dlt", "large", "dlt"),
    "spark35": Engine("Spark", "spark35", "pyspark", ("org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0",)),
    "iceberg_go": Engine("iceberg-go", "large", "github.com/apache/iceberg-go"),
    "trino": Engine("Trino", "trino", "trino-server", ("io.trino:trino-server:476:tar.gz",)),
    "flink": Engine(
        "Flink",
        "flink",
        "apache-flink-libraries",
        (
            "org.apache.iceberg:iceberg-flink-runtime-2.1:1.11.0",
            "org.apache.hadoop:hadoop-client-api:3.4.2",
            "org.apache.hadoop:hadoop-client-runtime:3.4.2",
            "org.xerial:sqlite-jdbc:3.46.1.3",
        ),
    ),
}


@dataclass(frozen=True)
class Written:
    """A commit of an engine, and its outcome for models of each strategy.

    ``step``: the operation of the engine's program; ``text``: what it is called on the page; ``formats``: the format
    versions of the table; ``errors``: the name of the documented error by strategy, for those that are not RIGHT;
    ``mode``: the table's ``write.*.mode``, or an empty string for the engine's default; ``refused``: a part of the
    engine's own error, if it cannot do this; ``in_spark``: whether Spark creates the table, because the engine cannot.
    """

    engine: str
    step: str
    text: str
    formats: tuple[int, ...] = (2, 3)
    errors: tuple[tuple[str, str], ...] = ()
    mode: str = ""
    refused: str = ""
    in_spark: bool = False

    @property
    def id(self) -> str:
        """The name of the row in the ids of its tests."""
        return "-".join(filter(None, [self.engine, self.step, self.mode.replace("-", "_")]))

    def outcome(self, strategy: str) -> str:
        """RIGHT, or the name of an error in docs/errors."""
        return dict(self.errors).get(strategy, RIGHT)


REWRITTEN = (("append", "rewritten"),)

V2, V3 = (2,), (3,)
NO_V3 = "Cannot write manifest for table version: 3"
NO_PUFFIN = "Must use DVs for position deletes in V3"

WRITERS = (
    Written("pyiceberg", "append", "`append`", V2),
    Written("pyiceberg", "delete", "`delete`", V2, REWRITTEN),
    Written("pyiceberg", "update", "`overwrite` of one row", V2, REWRITTEN),
    Written("pyiceberg", "upsert", "`upsert`", V2, REWRITTEN),
    Written("pyiceberg", "overwrite", "`overwrite` of all rows", V2, REWRITTEN),
    Written("pyiceberg", "overwrite_partitions", "`dynamic_partition_overwrite`", V2, REWRITTEN),
    Written("pyiceberg", "append", "`append`", V3, refused=NO_V3),
    Written("polars", "append", "`sink_iceberg`, append", V2),
    Written("polars", "overwrite", "`sink_iceberg`, overwrite", V2, REWRITTEN),
    Written("polars", "overwrite_partitions", "`sink_iceberg`, dynamic overwrite", V2, REWRITTEN),
    Written("polars", "append", "`sink_iceberg`, append", V3, refused=NO_V3),
    Written("dlt", "append", "`append`", V2),
    Written("dlt", "upsert", "`merge`, upsert", V2, REWRITTEN),
    Written("dlt", "overwrite", "`replace`", V2, REWRITTEN),
    Written("dlt", "append", "`append`", V3, refused=NO_V3),
    Written("duckdb", "append", "INSERT"),
    Written("duckdb", "delete", "DELETE", errors=REWRITTEN),
    Written("duckdb", "update", "UPDATE", errors=REWRITTEN),
    Written("duckdb", "upsert", "MERGE", errors=REWRITTEN),
    Written("daft", "append", "`write_iceberg`, append", V2),
    Written("daft", "overwrite", "`write_iceberg`, overwrite", V2, REWRITTEN),
    Written("daft", "overwrite_partitions", "`write_iceberg`, overwrite of one partition", V2, REWRITTEN),
    Written("daft", "append", "`write_iceberg`, append", V3, refused=NO_V3),
    Written("clickhouse", "append", "INSERT"),
    Written("clickhouse", "delete", "ALTER TABLE … DELETE", errors=REWRITTEN),
    Written("clickhouse", "update", "ALTER TABLE … UPDATE", errors=REWRITTEN),
    Written(
        "datafusion", "append", "INSERT", V2, refused="Write operations are not supported on IcebergStaticTableProvider"
    ),
    Written("sail", "append", "INSERT"),
    Written("sail", "delete", "DELETE", errors=REWRITTEN),
    Written("sail", "update", "UPDATE", errors=REWRITTEN),
    Written("sail", "upsert", "MERGE", errors=REWRITTEN),
    Written("sail", "delete", "DELETE", errors=REWRITTEN, mode="merge-on-read"),
    Written("sail", "update", "UPDATE", V3, REWRITTEN, mode="merge-on-read"),
    Written("sail", "update", "UPDATE", V2, mode="merge-on-read", refused="requires format-version 3"),
    Written("sail", "upsert", "MERGE", errors=REWRITTEN, mode="merge-on-read"),
    Written("sail", "overwrite", "INSERT OVERWRITE", errors=REWRITTEN),
    Written("sail", "overwrite_partitions", "`overwritePartitions`", errors=REWRITTEN),
    Written("spark35", "append", "INSERT"),
    Written("spark35", "delete", "DELETE", errors=REWRITTEN),
    Written("spark35", "update", "UPDATE", errors=REWRITTEN),
    Written("spark35", "upsert", "MERGE", errors=REWRITTEN),
    Written("spark35", "delete", "DELETE", errors=REWRITTEN, mode="merge-on-read"),
    Written("spark35", "update", "UPDATE", errors=REWRITTEN, mode="merge-on-read"),
    Written("spark35", "upsert", "MERGE", errors=REWRITTEN, mode="merge-on-read"),
    Written("spark35", "overwrite", "INSERT OVERWRITE", errors=REWRITTEN),
    Written("spark35", "overwrite_partitions", "`overwritePartitions`", errors=REWRITTEN),
    Written("iceberg_go", "append", "`Append`"),
    Written("iceberg_go", "delete", "`Delete`", errors=REWRITTEN),
    Written("iceberg_go", "delete", "`Delete`", errors=REWRITTEN, mode="merge-on-read"),
    Written("iceberg_go", "update", "`Overwrite` of one row", errors=REWRITTEN),
    Written("iceberg_go", "overwrite", "`Overwrite` of all rows", errors=REWRITTEN),
    Written("trino", "append", "INSERT", V2),
    Written("trino", "delete", "DELETE", V2, REWRITTEN),
    Written("trino", "update", "UPDATE", V2, REWRITTEN),
    Written("trino", "upsert", "MERGE", V2, REWRITTEN),
    Written("trino", "append", "INSERT into a table that Spark created", V3, in_spark=True),
    Written("trino", "delete", "DELETE", V3, refused=NO_PUFFIN),
    Written("trino", "update", "UPDATE", V3, refused=NO_PUFFIN),
    Written("trino", "upsert", "MERGE", V3, refused=NO_PUFFIN),
    Written("flink", "append", "INSERT"),
    Written("flink", "upsert", "INSERT, `upsert-enabled`", errors=REWRITTEN),
    Written("flink", "upsert_new", "INSERT of new keys, `upsert-enabled`", errors=REWRITTEN),
    Written("flink", "delete", "a changelog with a DELETE", errors=REWRITTEN),
    Written("flink", "update", "a changelog with an UPDATE", errors=REWRITTEN),
    Written("flink", "changelog", "a changelog that changes rows twice", errors=REWRITTEN),
    Written("flink", "overwrite", "INSERT OVERWRITE", errors=REWRITTEN),
    Written("flink", "overwrite_partitions", "INSERT OVERWRITE of one partition", errors=REWRITTEN),
)


@dataclass(frozen=True)
class Layout:
    """A layout of a model's table. ``text``: what it is called on the page."""

    text: str
    properties: tuple[tuple[str, str], ...] = ()


MODES = tuple((f"write.{statement}.mode", "copy-on-write") for statement in ("delete", "update", "merge"))
LAYOUTS = {
    "v3": Layout("v3, deletion vectors (default)"),
    "v2": Layout("v2, position deletes", (("format-version", "2"),)),
    "v2_copy_on_write": Layout("v2, copy-on-write", (("format-version", "2"), *MODES)),
}


@dataclass(frozen=True)
class Read:
    """What an engine reads from tables with a layout.

    ``refused``: a part of the engine's error by question; ``wrong``: what is wrong by question. All other answers are
    RIGHT.
    """

    engine: str
    layout: str
    refused: tuple[tuple[str, str], ...] = ()
    wrong: tuple[tuple[str, str], ...] = ()

    @property
    def refusals(self) -> dict[str, str]:
        """The part of the engine's error, by question."""
        return dict(self.refused)

    def outcome(self, question: str) -> str:
        """RIGHT, ``refused``, or what is wrong."""
        return "refused" if question in self.refusals else dict(self.wrong).get(question, RIGHT)


_WITH_DELETES = QUESTIONS[:-1]
"""The questions that an engine cannot answer if it does not read deletion vectors."""

READERS = (
    *(Read(engine, layout) for engine in ("pyiceberg", "polars", "duckdb") for layout in LAYOUTS),
    Read("daft", "v3", tuple((each, "CorruptFile") for each in _WITH_DELETES)),
    Read("daft", "v2"),
    Read("daft", "v2_copy_on_write"),
    Read(
        "clickhouse", "v3", tuple((each, "Position deletes are supported only for parquet") for each in _WITH_DELETES)
    ),
    Read("clickhouse", "v2"),
    Read("clickhouse", "v2_copy_on_write"),
    *(Read("datafusion", layout, (("time travel", "snapshot_id"),)) for layout in LAYOUTS),
    Read("trino", "v3", tuple((each, "Unexpected PUFFIN file format") for each in _WITH_DELETES)),
    Read("trino", "v2"),
    Read("trino", "v2_copy_on_write"),
    *(Read(engine, layout) for engine in ("sail", "spark35", "iceberg_go", "flink") for layout in LAYOUTS),
)

PLAIN_PATHS = {**dict.fromkeys((each.engine for each in READERS), ""), "datafusion": "relative URL without a base"}
"""A part of each engine's error for a table whose paths have no scheme, or an empty string if it reads the table."""

ON_SAIL = {
    "create or replace table {0} using iceberg location '{1}' as select 1 as id, 'a' as v": "",
    "insert into {0} values (2, 'b')": "",
    "merge into {0} t using (select 2 as id, 'c' as v) s on t.id = s.id when matched then update set *": "",
    "create or replace temporary view changes as select * from {0}": "",
    "alter table {0} set tblproperties ('ip.checkpoint' = '{{}}')": "",
    "set": "list all properties",
    "select * from {0}.snapshots": "TABLE_OR_VIEW_NOT_FOUND",
    "alter table {0} create branch staged": "found create at",
    "insert into {0}.branch_staged values (3, 'c')": "NOT_FOUND",
    "call system.rewrite_data_files(table => '{0}')": "found call at",
    "show tblproperties {0}": "found tblproperties at",
}
"""Statements of a run on Sail's Spark Connect server, with a part of its error, or an empty string if it works.

``{0}``: a table; ``{1}``: its folder.
"""

NOT_TESTED: dict[str, str] = {
    "Kafka Connect, Snowflake": "not tried yet",
}
"""Engines without tests, and what is known about them."""
