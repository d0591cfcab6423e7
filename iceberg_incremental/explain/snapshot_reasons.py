"""The reasons, for the log, why a run of a dbt snapshot compares whole tables."""

from __future__ import annotations

from collections.abc import Collection

FIRST_RUN = "its table has no checkpoint yet"
SWITCHED_OFF = "ip_incremental is false"
PARTIAL = "the run has --empty or --sample"
NO_UNIQUE_KEY = "it has no unique_key"
SQL_HEADER = "it has a sql_header"
OTHER_MODEL = "the checkpoint of its table belongs to another node"
OTHER_LOGIC = "its SQL, its config, a setting of the session or the version of a package has changed"
OTHER_SOURCE = "its checkpoint is for another source table"
TABLE_CHANGED = "its table has changed since the checkpoint, by another writer or by a run that left no checkpoint"
TABLE_ALTERED = "the columns of its table have changed since the checkpoint, or are unknown"
SOURCE_NOT_COMMITTED = "the columns of the table that it reads have changed since its newest commit, or are unknown"
SOURCE_ALTERED = "the columns of the table that it reads have changed since the checkpoint"
REPEATED_KEYS = "the query returns several rows of a unique_key"
NULL_KEYS = "the query returns NULL in unique_key"
DIVIDED_KEYS = "a column of unique_key contains '|', which dbt uses as a separator in the ids of versions"
REPEATED_VERSIONS = "two changes are for the same version of a row"
NOT_CURRENT = "dbt_valid_to_current has a different value after it is stored in the table"
READ_DIFFERENTLY = "its SQL returns different columns for the changes of its table"
TEXT_AS_TIME = "updated_at is text, which dbt converts to timestamps and back because hard_deletes is not ignore"
NO_SNAPSHOT = "its table has no commit yet"


def strategy(name: object) -> str:
    """A custom strategy of the project."""
    return f"its strategy is {name!r}"


def file_format(name: object) -> str:
    """A table of another format."""
    return f"its file_format is {name!r}"


def not_a_column(config: str, text: object) -> str:
    """A config that is an expression, or a column name that differs in case."""
    return f"{config} is {text!r}, which is not the name of a column as the query returns it"


def not_supported(construct: object) -> str:
    """SQL whose result is not computed row by row."""
    return f"its SQL has {construct}"


def not_constant(construct: object) -> str:
    """A value that may differ between runs."""
    return f"dbt_valid_to_current has {construct}"


def not_one_table(tables: Collection[object]) -> str:
    """A query that does not read exactly one table."""
    return f"it reads {' and '.join(map(str, tables)) or 'no table'}, but must read exactly one table, once"


def settings(keys: Collection[str]) -> str:
    """Session settings under which this package refuses to write."""
    return f"the session sets {', '.join(keys)}"


def overridden(macros: Collection[str]) -> str:
    """Macros of dbt's snapshots that the project overrides."""
    return f"dbt's macros for snapshots are overridden by {', '.join(sorted(macros))}"


def key_type(column: str, type_: str) -> str:
    """A key whose type cannot be compared exactly."""
    return f"the unique_key {column} is of type {type_}"


def other_type(column: str, type_: str, stored: str) -> str:
    """A column whose type in the table differs from its type in the query."""
    return f"{column} is {type_} in the query and {stored} in the table"


def repeated_column(column: str) -> str:
    """Several columns with the same name."""
    return f"the query returns several columns named {column!r}"
