"""The errors of ``ip_verify`` and ``ip_equals_rebuild``."""

from __future__ import annotations

from collections.abc import Sequence

from iceberg_incremental.errors import ConfigError, DifferenceError, IncomparableError
from iceberg_incremental.explain.entries import indexed
from iceberg_incremental.explain.wording import command


@indexed
def tables_differ(models: Sequence[str]) -> DifferenceError:
    """Some tables differ from their rebuilds."""
    listed = "\n".join(f"    {model}" for model in models)
    differ = f"The tables of {len(models):,} models differ from their rebuilds"
    if len(models) == 1:
        differ = "The table of 1 model differs from its rebuild"
    return DifferenceError(
        f"{differ}.\n"
        "  Expected: the rows that the SQL returns for the snapshots of the checkpoint.\n"
        f"  Found:\n{listed}\n"
        "  To fix: run a full refresh to replace the rows. The report has examples, and SQL that shows all differences."
    )


@indexed
def not_a_fraction(found: str) -> ConfigError:
    """The argument ``sample`` is not a fraction."""
    return ConfigError(
        f"sample is {found!r}.\n  Expected: a number above 0 and at most 1.\n"
        f"  To fix: to compare 5% of the keys, run `{command('ip_verify', sample=0.05)}`."
    )


@indexed
def not_one_table(found: str) -> ConfigError:
    """A data test ``ip_equals_rebuild`` has the config ``where``, or its relation was not built by this package."""
    return ConfigError(
        f"ip_equals_rebuild cannot compare {found}.\n"
        "  Expected: a model with materialized: iceberg_incremental_snapshot, and a test without the config `where`.\n"
        f"  Found: {found}.\n"
        "  To fix: remove the test, or its config `where`."
    )


@indexed
def no_state(folder: object) -> ConfigError:
    """The folder in ``--state`` for ``ip_verify --defer`` has no manifest, or ``--state`` is missing."""
    return ConfigError(
        "ip_verify has no manifest to defer to.\n"
        "  Expected: with --defer, a folder with the manifest.json of another environment.\n"
        f"  Found: {'no --state' if folder is None else f'no manifest.json in {folder}'}.\n"
        "  To fix: add --state <folder>, or remove --defer."
    )


@indexed
def rows_left_out(model: str) -> IncomparableError:
    """A model cannot be verified with ``--empty`` or ``--sample``."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild in an invocation with --empty or --sample.\n"
        "  Expected: all rows of the sources.\n"
        "  Found: an option that omits rows.\n"
        "  To fix: exclude the test with --exclude test_name:ip_equals_rebuild."
    )


@indexed
def sources_not_pinned(model: str) -> IncomparableError:
    """The SQL of an ``auto`` model cannot be parsed, so its sources cannot be read at the checkpoint's snapshots."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: its SQL cannot be parsed.\n"
        "  Expected: SQL that this package can parse, to read the sources at the snapshots of the checkpoint.\n"
        "  Found: SQL that this package cannot parse.\n"
        "  To fix: run ip_explain for the model, which reports the cause."
    )
