"""Why a run of a dbt snapshot compares whole tables, as the log says it."""

from __future__ import annotations

from collections.abc import Collection

FIRST_RUN = "its table has no checkpoint yet"
SWITCHED_OFF = "ip_incremental is false"
PARTIAL = "the run is under --empty or --sample"
NO_UNIQUE_KEY = "it has no unique_key"
SQL_HEADER = "it has a sql_header"
OTHER_MODEL = "the checkpoint of its table is of another node"
OTHER_LOGIC = "its SQL, its config, a setting of the session or a version has changed"
OTHER_SOURCE = "its checkpoint is of another table"
TABLE_CHANGED = "another writer has changed its table since the checkpoint"
TABLE_ALTERED = "the columns of its table have changed since the checkpoint, or are not known"
SOURCE_NOT_COMMITTED = "the columns of the table that it reads have changed since its newest commit, or are not known"
SOURCE_ALTERED = "the columns of the table that it reads have changed since the checkpoint"
REPEATED_KEYS = "the query returns several rows of a unique_key"
NULL_KEYS = "the query returns a NULL in unique_key"
DIVIDED_KEYS = "a column of unique_key has a '|', by which dbt divides them in the ids of versions"
REPEATED_VERSIONS = "two of its changes are of the same version of a row"
NOT_CURRENT = "dbt_valid_to_current has another value once it is stored in the table"
READ_DIFFERENTLY = "its SQL returns other columns when it reads the changes of its table"
NO_SNAPSHOT = "its table has no commit yet"


def strategy(name: object) -> str:
    """A strategy of the project's own."""
    return f"its strategy is {name!r}"


def file_format(name: object) -> str:
    """A table of another format."""
    return f"its file_format is {name!r}"


def not_a_column(config: str, text: object) -> str:
    """A config that holds an expression, or the name of a column in another case."""
    return f"{config} is {text!r}, which is not the name of a column as the query returns it"


def not_supported(construct: object) -> str:
    """SQL whose result is not computed row by row."""
    return f"its SQL has {construct}"


def not_constant(construct: object) -> str:
    """A value that may differ from run to run."""
    return f"dbt_valid_to_current has {construct}"


def not_one_table(tables: Collection[object]) -> str:
    """A query of more than one table, or of none."""
    return f"{' and '.join(map(str, tables)) or 'no table'} to read, and not one table once"


def settings(keys: Collection[str]) -> str:
    """Settings of the session under which no statement of ours runs."""
    return f"the session sets {', '.join(keys)}"


def overridden(macros: Collection[str]) -> str:
    """Macros of dbt's snapshots that the project has its own of."""
    return f"dbt's macros for snapshots are overridden by {', '.join(sorted(macros))}"


def key_type(column: str, type_: str) -> str:
    """A key of a type whose values are not compared exactly."""
    return f"the unique_key {column} is of type {type_}"


def other_type(column: str, type_: str, stored: str) -> str:
    """A column that the table stores as another type than the query returns."""
    return f"the query returns {column} as {type_}, and the table has it as {stored}"


def repeated_column(column: str) -> str:
    """Two columns of one name."""
    return f"the query returns several columns named {column!r}"
