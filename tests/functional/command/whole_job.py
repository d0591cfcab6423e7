"""Runs a whole job in a separate process. Usage: python whole_job.py <source> <target> <options …>."""

from __future__ import annotations

import io
import json
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

import duckdb
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import CommitFailedException

from iceberg_incremental.command.command_line import OVERTAKEN, main


def printed(*arguments):
    out = io.StringIO()
    with redirect_stdout(out):
        code = main(arguments)
    return code, out.getvalue()


def write(run, properties):
    (source,) = run["sources"]
    files = [file["path"].removeprefix("file:") for file in source["files"]]
    rows = duckdb.sql(f"select * from read_parquet({files!r})").to_arrow_table()
    catalog, name = run["target"]["table"].split(".", 1)
    target = load_catalog(catalog, **properties).load_table(name)
    target.append(rows, branch=run["branch"])


def job(source, target, *options):
    properties = dict(each.partition("=")[2].partition(".")[2].split("=", 1) for each in options)
    code, text = printed("capture", f"--target={target}", f"--source={source}", *options)
    if code != 0:
        return code
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.json"
        file.write_text(text, encoding="utf-8")
        try:
            write(json.loads(text), properties)
            code, text = printed("commit", f"--run={file}", *options)
        except (CommitFailedException, ValueError):
            code = OVERTAKEN  # another process commits to the table, or has dropped the branch
        if code == OVERTAKEN:
            printed("abort", f"--run={file}", *options)
    sys.stdout.write(text)
    return code


if __name__ == "__main__":
    sys.exit(job(*sys.argv[1:]))
