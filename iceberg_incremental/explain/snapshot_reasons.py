"""The reasons, for the log, why a run of a dbt snapshot compares whole tables."""

from __future__ import annotations

FIRST_RUN = "its table has no checkpoint yet"
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
