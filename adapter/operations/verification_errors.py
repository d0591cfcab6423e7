"""The errors of ``ip_verify`` and ``ip_equals_rebuild``."""

from __future__ import annotations

from collections.abc import Sequence

from iceberg_incremental.errors import ConfigError, DifferenceError, IncomparableError
from iceberg_incremental.explain.wording import command


def tables_differ(models: Sequence[str]) -> DifferenceError:
    """Some tables differ from their rebuilds."""
    listed = "\n".join(f"    {model}" for model in models)
    differ = f"The tables of {len(models):,} models differ from their rebuilds"
    if len(models) == 1:
        differ = "The table of 1 model differs from its rebuild"
    return DifferenceError(
        f"{differ}.",
        expected="the rows that the SQL returns for the snapshots of the checkpoint.",
        found=f"\n{listed}",
        fix="run a full refresh to replace the rows. The report has examples, and SQL that shows all differences.",
    ).named("tables-differ")


def not_a_fraction(found: str) -> ConfigError:
    """The argument ``sample`` is not a fraction."""
    return ConfigError(
        f"sample is {found!r}.",
        expected="a number above 0 and at most 1.",
        fix=f"to compare 5% of the keys, run `{command('ip_verify', sample=0.05)}`.",
    ).named("not-a-fraction")


def not_one_table(found: str) -> ConfigError:
    """A data test ``ip_equals_rebuild`` has the config ``where``, or its relation was not built by this package."""
    return ConfigError(
        f"ip_equals_rebuild cannot compare {found}.",
        expected="a model with materialized: iceberg_incremental_snapshot, and a test without the config `where`.",
        found=f"{found}.",
        fix="remove the test, or its config `where`.",
    ).named("not-one-table")


def no_state(folder: object) -> ConfigError:
    """The folder in ``--state`` for ``ip_verify --defer`` has no manifest, or ``--state`` is missing."""
    return ConfigError(
        "ip_verify has no manifest to defer to.",
        expected="with --defer, a folder with the manifest.json of another environment.",
        found=f"{'no --state' if folder is None else f'no manifest.json in {folder}'}.",
        fix="add --state <folder>, or remove --defer.",
    ).named("no-state")


def rows_left_out(model: str) -> IncomparableError:
    """A model cannot be verified with ``--empty`` or ``--sample``."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild in an invocation with --empty or --sample.",
        expected="all rows of the sources.",
        found="an option that omits rows.",
        fix="exclude the test with --exclude test_name:ip_equals_rebuild.",
    ).named("rows-left-out")


def sources_not_pinned(model: str) -> IncomparableError:
    """The SQL of an ``auto`` model cannot be parsed, so its sources cannot be read at the checkpoint's snapshots."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: its SQL cannot be parsed.",
        expected="SQL that this package can parse, to read the sources at the snapshots of the checkpoint.",
        found="SQL that this package cannot parse.",
        fix="run ip_explain for the model, which reports the cause.",
    ).named("sources-not-pinned")
