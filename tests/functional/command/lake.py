"""The tables of a test. Spark writes to the source, and the job uses DuckDB and PyIceberg instead of Spark."""

from __future__ import annotations

import io
import itertools
import json
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

import duckdb
from pyiceberg.catalog import load_catalog

from dbt.adapters.spark_iceberg.profile.lakehouse import CATALOG_FILE
from iceberg_incremental.command.command_line import main

CATALOG = "lakehouse"
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Answer:
    """The exit code and the output of the command."""

    code: int
    printed: str
    said: str

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.printed)


class Lake:
    def __init__(self, session, warehouse, tmp_path, partitioned=""):
        self.session = session
        self.folder = tmp_path
        self.schema = f"{CATALOG}.command_{next(_numbers)}"
        self.source, self.target = f"{self.schema}.events", f"{self.schema}.staged"
        self.properties = {"type": "sql", "uri": f"sqlite:///{warehouse / CATALOG_FILE}", "warehouse": str(warehouse)}
        session.sql(f"create namespace {self.schema}")
        session.sql(f"create table {self.source} (id bigint, v string) using iceberg {partitioned}")
        session.sql(f"create table {self.target} (id bigint, v string) using iceberg")

    # Spark

    def sql(self, text):
        return [tuple(row) for row in self.session.sql(text.format(s=self.source, t=self.target)).collect()]

    def insert(self, *rows):
        """Commit rows in one file."""
        values = ", ".join(f"({number}, {value!r})" for number, value in rows)
        self.sql(f"insert into {{s}} select /*+ coalesce(1) */ * from values {values}")

    def rows(self, columns="id, v"):
        return Counter(self.sql(f"select {columns} from {{t}}"))

    def branches(self):
        return {name for (name,) in self.sql("select name from {t}.refs")}

    def compact(self, table):
        options = "options => map('rewrite-all', 'true')"
        self.session.sql(f"call {CATALOG}.system.rewrite_data_files(table => '{table}', {options})")

    def head(self, table):
        rows = self.session.sql(f"select snapshot_id from {table}.refs where name = 'main'").collect()
        return rows[0][0] if rows else None

    # The command

    def properties_given(self):
        return [f"--catalog-property={CATALOG}.{key}={value}" for key, value in self.properties.items()]

    def command(self, name, *arguments):
        """Run the command in this process."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main([name, *arguments, *self.properties_given()])
        return Answer(code, out.getvalue(), err.getvalue())

    def capture(self, *options, sources=None):
        named = [f"--source={each}" for each in sources or [self.source]]
        return self.command("capture", f"--target={self.target}", *named, *options)

    def status(self, *options):
        return self.command("status", f"--target={self.target}", f"--source={self.source}", *options)

    def saved(self, captured):
        """Write the output of a capture to a file."""
        file = self.folder / f"run_{next(_numbers)}.json"
        file.write_text(captured.printed, encoding="utf-8")
        return file

    def commit(self, captured, *options):
        return self.command("commit", f"--run={self.saved(captured)}", *options)

    def abort(self, captured):
        return self.command("abort", f"--run={self.saved(captured)}")

    # The job

    def iceberg(self, table=None):
        """A table as PyIceberg loads it."""
        catalog = load_catalog(CATALOG, **self.properties)
        return catalog.load_table((table or self.target).split(".", 1)[1])

    def write(self, captured):
        """The job: DuckDB reads the captured files, and PyIceberg writes the rows to the branch."""
        run = captured.document
        for source in run["sources"]:
            files = [file["path"].removeprefix("file:") for file in source["files"]]
            if files:
                columns = ", ".join(source["columns"])
                read = f"select {columns} from read_parquet({files!r}, union_by_name = true)"
                rows = duckdb.sql(read).to_arrow_table()
                self.iceberg().append(rows, branch=run["branch"])

    def run(self, *options):
        """Run the whole job; returns the answer of commit, or of capture if the job stops there."""
        captured = self.capture(*options)
        if captured.code != 0:
            return captured
        if captured.document["action"] in ("apply", "rebuild"):
            self.write(captured)
        return self.commit(captured)
