"""The errors of ``ip_verify`` and ``ip_equals_rebuild``."""

from __future__ import annotations

from collections.abc import Sequence

from iceberg_incremental.errors import ConfigError, DifferenceError, IncomparableError
from iceberg_incremental.explain.entries import indexed
from iceberg_incremental.explain.wording import command


@indexed
def tables_differ(models: Sequence[str]) -> DifferenceError:
    """Tables differ from their rebuilds."""
    listed = "\n".join(f"    {model}" for model in models)
    return DifferenceError(
        f"The tables of {len(models):,} models differ from their rebuilds.\n"
        "  Expected: the rows that the SQL returns for the snapshots of the checkpoint.\n"
        f"  Found:\n{listed}\n"
        "  To fix: the report lists examples, and the SQL that shows all differences. A full refresh replaces the rows."
    )


@indexed
def not_a_share(found: str) -> ConfigError:
    """The argument sample is no share."""
    return ConfigError(
        f"sample is {found!r}.\n  Expected: a number above 0, up to 1.\n"
        f"  To fix: {command('ip_verify', sample=0.05)} compares 5% of the keys."
    )


@indexed
def not_one_table(found: str) -> ConfigError:
    """The data test ``ip_equals_rebuild`` is on something else than a table of this package."""
    return ConfigError(
        f"ip_equals_rebuild cannot compare {found}.\n"
        "  Expected: a model with materialized: iceberg_incremental_snapshot, and no config where in the test.\n"
        f"  Found: {found}.\n"
        "  To fix: remove the test, or its config where."
    )


@indexed
def no_state(folder: object) -> ConfigError:
    """``ip_verify --defer`` has no manifest to defer to."""
    return ConfigError(
        "ip_verify has no manifest to defer to.\n"
        "  Expected: with --defer, a folder with the manifest.json of another environment.\n"
        f"  Found: {'no --state' if folder is None else f'no manifest.json in {folder}'}.\n"
        "  To fix: add --state <folder>, or leave --defer out."
    )


@indexed
def rows_left_out(model: str) -> IncomparableError:
    """A model cannot be verified under ``--empty`` or ``--sample``."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild under --empty or --sample.\n"
        "  Expected: all rows of the sources.\n"
        "  Found: an option that leaves rows out.\n"
        "  To fix: leave ip_equals_rebuild out of this invocation by --exclude test_name:ip_equals_rebuild."
    )


@indexed
def sources_not_pinned(model: str) -> IncomparableError:
    """The SQL of a model with the strategy ``auto`` cannot be read, so that its sources cannot be pinned."""
    return IncomparableError(
        f"{model} cannot be compared with its rebuild: the places where its SQL names its sources are not known.\n"
        "  Expected: SQL that this package can parse, to read the sources at the snapshots of the checkpoint.\n"
        "  Found: SQL that it cannot parse.\n"
        "  To fix: see what ip_explain reports for the model."
    )
