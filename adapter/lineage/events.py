"""Events in the classes of OpenLineage's client. Only the thread that sends them imports this module."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from dbt.adapters.events.logging import AdapterLogger
from openlineage.client import event_v2 as event
from openlineage.client.facet_v2 import (
    DatasetFacet,
    InputDatasetFacet,
    JobFacet,
    OutputDatasetFacet,
    RunFacet,
    catalog_dataset,
    column_lineage_dataset,
    dataset_version_dataset,
    datasource_dataset,
    error_message_run,
    input_statistics_input_dataset,
    job_type_job,
    output_statistics_output_dataset,
    parent_run,
    processing_engine_run,
    schema_dataset,
    sql_job,
    symlinks_dataset,
)
from sqlglot import exp
from sqlglot.errors import SqlglotError

from iceberg_incremental.metadata.catalog_properties import kind_of
from iceberg_incremental.query.algebra import nodes as op
from iceberg_incremental.query.algebra.flow import Flow
from iceberg_incremental.query.algebra.tree import Tree
from iceberg_incremental.query.any_sql import any_tree
from iceberg_incremental.query.text import functions
from iceberg_incremental.secrets import mask
from iceberg_incremental.table.history import TableName

from .facts import Dataset, Event, Parent, Touched

logger = AdapterLogger("SparkIceberg")
_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<authority>[^/]*))?(?P<path>.*)", re.DOTALL)
_OBJECT_STORES = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "s3"),
    "gs": "gs",
    **dict.fromkeys(("abfs", "abfss"), "abfss"),
    **dict.fromkeys(("wasb", "wasbs"), "wasbs"),
}
"""The URI schemes of object stores, each with the scheme that the conventions use."""


def dataset_name(location: str) -> tuple[str, str]:
    """The namespace and name of a dataset, from the location of its table."""
    scheme, authority, path = _split(location)
    if scheme == "file":
        return scheme, path or "/"
    if scheme in _OBJECT_STORES:
        return f"{_OBJECT_STORES[scheme]}://{authority}", path.lstrip("/") or "/"
    return f"{scheme}://{authority}", path or "/"


def symlink(table: TableName, catalog: Mapping[str, str]) -> tuple[str, str] | None:
    """The namespace and name of a table in its catalog. None if Spark's settings do not contain them.

    ``catalog``: Spark's settings of the catalog. Glue needs the AWS account, which is not in the settings.
    """
    namespace = _catalog_namespace(kind_of(catalog), catalog)
    return None if namespace is None else (namespace, f"{table.namespace}.{table.name}")


def catalog_uri(catalog: Mapping[str, str]) -> str | None:
    """The URI of a catalog without credentials and parameters. None without a URI."""
    uri = catalog.get("uri")
    return mask(uri.partition("?")[0]) if uri else None


def _catalog_namespace(kind: str, catalog: Mapping[str, str]) -> str | None:
    uri, warehouse = catalog_uri(catalog), catalog.get("warehouse")
    if kind == "hadoop" and warehouse:
        scheme, authority, path = _split(warehouse)
        return f"file:{path}" if scheme == "file" else f"{_OBJECT_STORES.get(scheme, scheme)}://{authority}{path}"
    if kind == "hive" and uri:
        return f"hive://{_split(uri)[1]}"
    return uri if kind in ("rest", "jdbc") else None


def _split(location: str) -> tuple[str, str, str]:
    """The scheme, authority and path of a location, without trailing slashes. A path without a scheme is local."""
    found = _URI.fullmatch(location)
    if found is None:
        return "file", "", location.rstrip("/")
    return found["scheme"].lower(), found["authority"] or "", found["path"].rstrip("/")


@dataclass(frozen=True, order=True)
class Origin:
    """A column from which another one is computed.

    ``subtype``: OpenLineage's ``IDENTITY``, ``TRANSFORMATION`` or ``AGGREGATION``.
    """

    table: TableName
    column: str
    subtype: str


def column_lineage(
    sql: str, inputs: Mapping[TableName, Mapping[str, str]], output: Collection[str]
) -> dict[str, tuple[Origin, ...]]:
    """The origins of the columns in ``output``. Columns without origins are omitted.

    ``inputs``: the columns of each table with their types. Raises SqlglotError for SQL that cannot be parsed.
    """
    tree = any_tree(sql, inputs)
    if tree is None:
        return {}
    origins, written = _Origins(tree), {name.lower(): name for name in output}
    listed = [name for name in op.names_of(tree.root) if name.lower() in written]
    found = {written[name.lower()]: origins.of(origins.flow.outputs(tree.root, name)) for name in listed}
    return {name: tuple(sorted(each)) for name, each in found.items() if each}


_SUBTYPES = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")
_OF_ROWS = (functions.AGGREGATES | functions.EXACT_IN_WINDOWS | functions.INEXACT_IN_WINDOWS) - {"row_number"}


def _subtype(value: exp.Expr) -> str:
    """How an expression uses the columns in it."""
    if any(each.name.lower() in _OF_ROWS for each in value.find_all(exp.Anonymous)):
        return "AGGREGATION"
    is_column = isinstance(value, exp.Column) and value.table != op.SUBQUERY
    return "IDENTITY" if is_column else "TRANSFORMATION"


class _Origins:
    def __init__(self, tree: Tree) -> None:
        self.flow = Flow(tree)
        self._tables = tree.tables
        self._known: dict[op.Column, frozenset[Origin]] = {}

    def of(self, values: Iterable[tuple[op.Node, exp.Expr]]) -> frozenset[Origin]:
        """The origins of some expressions."""
        return frozenset(
            replace(origin, subtype=max(origin.subtype, _subtype(value), key=_SUBTYPES.index))
            for _, value in values
            for column in value.find_all(exp.Column)
            for origin in self._of_column(column)
        )

    def _of_column(self, column: exp.Column) -> frozenset[Origin]:
        name = (column.table, column.name)
        if name not in self._known:
            owner = self.flow.owner(column)
            if isinstance(owner, op.Scan) and owner.table in self._tables:
                self._known[name] = frozenset((Origin(self._tables[owner.table], column.name, "IDENTITY"),))
            else:
                self._known[name] = self.of(self.flow.inputs(column))
        return self._known[name]


class Events:
    """Builds events. ``version``: the adapter's version, which is part of the producer of each event and facet."""

    def __init__(self, version: str, dbt_version: str) -> None:
        self._version = version
        self._dbt_version = dbt_version
        self._producer = f"pkg:pypi/dbt-spark-iceberg@{version}"

    def run_event(self, found: Event) -> event.RunEvent:
        """Convert an event to the client's class."""
        touched = found.touched
        return event.RunEvent(
            eventType=event.RunState(found.state.value),
            eventTime=found.time.isoformat(),
            run=event.Run(found.run_id, facets=self._run_facets(found)),
            job=event.Job(found.namespace, found.job, facets=self._job_facets(found)),
            inputs=[self._input(each) for each in touched.inputs],
            outputs=[] if touched.output is None else [self._output(touched.output, touched)],
            producer=self._producer,
        )

    def _run_facets(self, found: Event) -> dict[str, RunFacet]:
        facets: dict[str, RunFacet] = {
            "processing_engine": processing_engine_run.ProcessingEngineRunFacet(
                name="dbt",
                version=self._dbt_version,
                openlineageAdapterVersion=self._version,
                producer=self._producer,
            )
        }
        if found.parent is not None:
            facets["parent"] = self._parent(found.parent)
        if found.error is not None:
            facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(
                message=found.error, programmingLanguage="SQL", producer=self._producer
            )
        return facets

    def _parent(self, parent: Parent) -> parent_run.ParentRunFacet:
        root = parent.root or parent
        return parent_run.ParentRunFacet(
            run=parent_run.Run(parent.run_id),
            job=parent_run.Job(parent.namespace, parent.job),
            root=parent_run.Root(run=parent_run.RootRun(root.run_id), job=parent_run.RootJob(root.namespace, root.job)),
            producer=self._producer,
        )

    def _job_facets(self, found: Event) -> dict[str, JobFacet]:
        facets: dict[str, JobFacet] = {
            "jobType": job_type_job.JobTypeJobFacet(
                processingType="BATCH", integration="DBT", jobType=found.job_type, producer=self._producer
            )
        }
        if found.touched.sql is not None:
            facets["sql"] = sql_job.SQLJobFacet(found.touched.sql, dialect="spark", producer=self._producer)
        return facets

    def _input(self, found: Dataset) -> event.InputDataset:
        namespace, name = dataset_name(found.location)
        facets: dict[str, InputDatasetFacet] = {}
        if found.statistics is not None:
            read = found.statistics
            facets["inputStatistics"] = input_statistics_input_dataset.InputStatisticsInputDatasetFacet(
                rowCount=read.rows, size=read.size, fileCount=read.files, producer=self._producer
            )
        return event.InputDataset(namespace, name, facets=self._dataset_facets(found), inputFacets=facets)

    def _output(self, found: Dataset, touched: Touched) -> event.OutputDataset:
        namespace, name = dataset_name(found.location)
        facets: dict[str, OutputDatasetFacet] = {}
        if found.statistics is not None:
            added = found.statistics
            facets["outputStatistics"] = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
                rowCount=added.rows, size=added.size, fileCount=added.files, producer=self._producer
            )
        of_dataset = self._dataset_facets(found)
        columns = self._column_lineage(found, touched)
        if columns is not None:
            of_dataset["columnLineage"] = columns
        return event.OutputDataset(namespace, name, facets=of_dataset, outputFacets=facets)

    def _dataset_facets(self, found: Dataset) -> dict[str, DatasetFacet]:
        namespace, _ = dataset_name(found.location)
        facets: dict[str, DatasetFacet] = {
            "dataSource": datasource_dataset.DatasourceDatasetFacet(
                name=namespace, uri=namespace, producer=self._producer
            ),
            "catalog": catalog_dataset.CatalogDatasetFacet(
                framework="iceberg",
                type=kind_of(found.catalog),
                name=found.table.catalog,
                metadataUri=catalog_uri(found.catalog),
                warehouseUri=found.catalog.get("warehouse"),
                source="spark",
                producer=self._producer,
            ),
        }
        if found.columns:
            fields = [
                schema_dataset.SchemaDatasetFacetFields(each.name, each.type, each.comment) for each in found.columns
            ]
            facets["schema"] = schema_dataset.SchemaDatasetFacet(fields, producer=self._producer)
        link = symlink(found.table, found.catalog)
        if link is not None:
            identifiers = [symlinks_dataset.Identifier(*link, type="TABLE")]
            facets["symlinks"] = symlinks_dataset.SymlinksDatasetFacet(identifiers, producer=self._producer)
        if found.version is not None:
            version = dataset_version_dataset.DatasetVersionDatasetFacet(str(found.version), producer=self._producer)
            facets["version"] = version
        return facets

    def _column_lineage(
        self, output: Dataset, touched: Touched
    ) -> column_lineage_dataset.ColumnLineageDatasetFacet | None:
        """The origins of the output's columns. None if there are none, or if sqlglot cannot parse the SQL."""
        if touched.plain_sql is None:
            return None
        read = {each.table: {column.name: column.type for column in each.columns} for each in touched.inputs}
        try:
            found = column_lineage(touched.plain_sql, read, [column.name for column in output.columns])
        except (SqlglotError, RecursionError) as error:
            logger.debug(f"The columns of {output.table} have no lineage: sqlglot cannot parse the SQL: {error}")
            return None
        names = {each.table: dataset_name(each.location) for each in touched.inputs}
        fields = {
            column: column_lineage_dataset.Fields(
                [
                    column_lineage_dataset.InputField(
                        *names[each.table],
                        each.column,
                        transformations=[column_lineage_dataset.Transformation("DIRECT", each.subtype)],
                    )
                    for each in origins
                ]
            )
            for column, origins in found.items()
        }
        return column_lineage_dataset.ColumnLineageDatasetFacet(fields, producer=self._producer) if fields else None
