"""All configs of dbt models, snapshots and jobs: which values they accept, their defaults, and who reads them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Any, Generic, TypeVar, overload

from ..durations import EXAMPLES, duration
from ..table.clone import RETENTION
from .policy import (
    DEFAULT_ON_BREAK,
    ON_SCHEMA_CHANGE,
    Cause,
    OnAggregates,
    OnBreak,
    OnNotIncremental,
    OnRewrite,
    OnSqlChange,
    Policy,
    Strategy,
)
from .versions_config import META_COLUMNS, HardDeletes, HistoryConfig, MetaColumns

_Value = TypeVar("_Value")
_Value_co = TypeVar("_Value_co", covariant=True)
_Choice = TypeVar("_Choice", bound=str)


@dataclass(frozen=True)
class Kind(Generic[_Value_co]):
    """The values that a config accepts.

    ``expected``: the values in words. ``parse``: converts an accepted value, and returns None for any other value.
    ``choices``: all values, if they are names.
    """

    expected: str
    parse: Callable[[Any], _Value_co | None]
    choices: tuple[str, ...] = ()


def choice(*members: _Choice, or_empty: bool = False) -> Kind[_Choice]:
    """One of several names, which can be members of an Enum. ``or_empty``: whether an empty text means the first."""
    known = {_name(each): each for each in members}
    values = {"": members[0], **known} if or_empty else known
    expected = f"{'one of ' if len(known) > 1 else ''}{listed(known)}"
    return Kind(expected, lambda value: values.get(value) if isinstance(value, str) else None, tuple(known))


def listed(names: Iterable[str]) -> str:
    """Names in quotes, which can be members of an Enum."""
    return ", ".join(f"'{_name(each)}'" for each in names)


def _name(member: str) -> str:
    return str(member.value) if isinstance(member, Enum) else member


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _names(value: Any) -> tuple[str, ...] | None:
    names = [value] if isinstance(value, str) else value
    is_list = isinstance(names, Collection) and not isinstance(names, (bytes, Mapping))
    return tuple(names) if is_list and None not in map(_text, names) else None


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _duration(value: Any) -> timedelta | None:
    found = value if isinstance(value, timedelta) else duration(value)
    return found if found is not None and found > timedelta() else None


def _check_cols(value: Any) -> tuple[str, ...] | None:
    return () if value == "all" else None if isinstance(value, str) else _names(value) or None


def _meta_columns(value: Any) -> MetaColumns | None:
    names = {str(key): name for key, name in value.items() if name is not None} if isinstance(value, Mapping) else None
    if names is None or not names.keys() <= {*META_COLUMNS} or _names(names.values()) is None:
        return None
    found = MetaColumns(**names)
    return found if len({name.lower() for name in vars(found).values()}) == len(META_COLUMNS) else None


def _on_break(value: Any) -> Mapping[Cause, OnBreak] | None:
    """One policy for all causes, or a mapping by cause, in which missing causes have their defaults."""
    by_cause = value if isinstance(value, Mapping) else dict.fromkeys(Cause, value)
    try:
        return {**DEFAULT_ON_BREAK, **{Cause(cause): OnBreak(policy) for cause, policy in by_cause.items()}}
    except ValueError:
        return None


def _unchecked(expected: str) -> Kind[Any]:
    """Values that dbt checks, or the code that uses them."""
    return Kind(expected, lambda value: value)


COLUMN = Kind("a column name", _text)
COLUMNS = Kind("a column name, or a list of column names", _names)
CHECK_COLS = Kind("'all', or a list of column names", _check_cols)
FUNCTIONS = Kind("a function name, or a list of function names", _names)
META = Kind(f"a mapping from {listed(META_COLUMNS)} to distinct names", _meta_columns)
PROPERTIES = Kind(
    "a mapping from names of table properties to values",
    lambda value: value or {} if isinstance(value or {}, Mapping) else None,
)
SQL = Kind("a SQL expression, such as \"to_date('9999-12-31')\"", _text)
FLAG = Kind("true or false", lambda value: value if isinstance(value, bool) else None)
COUNT = Kind(
    "a whole number above 0, or omit it for no limit",
    lambda value: value if isinstance(value, int) and _number(value) and value > 0 else None,
)
SHARE = Kind(
    "a number from 0 (always rebuild) to 1 (rebuild only if necessary)",
    lambda value: float(value) if _number(value) and 0 <= value <= 1 else None,
)
DURATION = Kind(f"a duration above 0, {EXAMPLES}", _duration)
ON_BREAK = Kind(f"{choice(*OnBreak).expected}, or a mapping from {listed(Cause)} to these", _on_break)


@dataclass
class Config(Generic[_Value]):
    """A config. As an attribute of an instance of ``Configs``, it is the value that is set there, or the default.

    ``refused_by``: the strategies for which it is an error. ``ignored_by``: the strategies for which it has no effect,
    so that dbt logs a warning. ``only_here``: whether dbt also logs a warning for models of other materializations.
    """

    kind: Kind[_Value]
    default: _Value
    refused_by: Collection[Strategy] = ()
    ignored_by: Collection[Strategy] = ()
    only_here: bool = False
    name: str = field(default="", init=False)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, configs: None, owner: type) -> Config[_Value]: ...

    @overload
    def __get__(self, configs: Configs, owner: type) -> _Value: ...

    def __get__(self, configs: Configs | None, owner: type) -> Config[_Value] | _Value:
        if configs is None:
            return self
        return configs.read(self)

    @property
    def refusal(self) -> str:
        """The error of a model whose strategy refuses the config."""
        others = [each for each in Strategy if each not in self.refused_by]
        if len(self.refused_by) < len(others):
            return f"{self.name} is set, which {listed(self.refused_by)} does not support: remove it"
        supported = f"{' and '.join(listed(others).rsplit(', ', 1))} support{'s' if len(others) == 1 else ''}"
        return f"{self.name} is set, which only {supported}: remove it"


class Configs:
    """The configs that are set for a node of dbt, or the options of a job. ``wrong``: the errors found so far."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given
        self.wrong: list[str] = []

    @classmethod
    def table(cls) -> dict[str, Config[Any]]:
        """All configs of this class by name."""
        return {name: each for name, each in vars(cls).items() if isinstance(each, Config)}

    def read(self, config: Config[_Value]) -> _Value:
        """The value of a config. The default if the config is not set, or if its value is an error."""
        value = self.given.get(config.name)
        found = None if value is None else config.kind.parse(value)
        if value is not None and found is None:
            error = f"{config.name} is {value!r}: expected {config.kind.expected}"
            self.wrong += [error] if error not in self.wrong else []
        return config.default if found is None else found


_UNKEYED = (Strategy.APPEND, Strategy.INSERT_OVERWRITE, Strategy.AUTO)
_NOT_AUTO = tuple(each for each in Strategy if each is not Strategy.AUTO)
_NOT_HISTORY = tuple(each for each in Strategy if each is not Strategy.HISTORY)


class ModelConfigs(Configs):
    """The configs of models of this package, in the order of the reference, whose text for each follows it."""

    incremental_strategy = Config(choice(*Strategy), Strategy.APPEND)
    """how rows are written to the table ([comparison](guarantees.md#strategies)). `auto` keeps the table equal to
    [plain SQL](plain-sql.md). `append` adds the rows. `merge` replaces rows with the same `unique_key`.
    `insert_overwrite` replaces whole partitions. `apply_changes` applies an `ip_changelog`, including deletions; the
    SQL must return `_change_type`, which is not stored. `history` keeps all versions of each row ([guide](history.md))
    """
    unique_key = Config(COLUMNS, ())
    """identifies the rows of the table. Required by `merge`, `apply_changes` and `history`, refused with `append`, and
    [optional with `auto`](plain-sql.md#unique_key)"""
    on_not_incremental = Config(choice(*OnNotIncremental), OnNotIncremental.FAIL, ignored_by=_NOT_AUTO, only_here=True)
    """what `auto` does with SQL that it cannot update incrementally. `full_refresh` replaces all rows in each run in
    which a source has changed ([rules](plain-sql.md#on_not_incremental))"""
    rebuild_above = Config(SHARE, None, ignored_by=_NOT_AUTO, only_here=True)
    """the share of affected keys above which `auto` replaces all rows. By default, the run compares estimated costs
    ([rules](plain-sql.md#how-a-run-chooses))"""
    deterministic_functions = Config(FUNCTIONS, (), ignored_by=_NOT_AUTO, only_here=True)
    """the functions of your own that always return the same value for the same arguments, so that `auto` accepts them
    ([rules](plain-sql.md#functions-of-your-own))"""
    check_cols = Config(CHECK_COLS, (), refused_by=_NOT_HISTORY)
    """the columns whose changes create a new version in a history table. Other columns are updated in place in the
    valid version ([guide](history.md#options))"""
    hard_deletes = Config(choice(*HardDeletes), HardDeletes.INVALIDATE, refused_by=_NOT_HISTORY)
    """what a deletion does to the valid version in a history table ([guide](history.md#deletions))"""
    dbt_valid_to_current = Config(SQL, None, refused_by=_NOT_HISTORY)
    """the `dbt_valid_to` of valid versions in a history table; NULL by default"""
    snapshot_meta_column_names = Config(META, MetaColumns(), refused_by=_NOT_HISTORY)
    """other names for these columns in a history table"""
    sequence_by = Config(COLUMNS, (), refused_by=_UNKEYED, only_here=True)
    """determines which of several rows with the same `unique_key` is the newest
    ([rules](patterns.md#late-and-out-of-order-rows)). A history table that reads a log accepts one column, which
    contains the start of each version ([guide](history.md#from-a-log-of-events))"""
    on_source_rewrite = Config(choice(*OnRewrite), OnRewrite.FAIL, only_here=True)
    """what `ip_changes` does when commits changed or deleted rows of the source
    ([rules](guarantees.md#commits-of-a-source)). `upserts` returns each new or changed row once, without deleted rows;
    use it with `merge`, because `append` keeps the old version too. `ignore` reads only appended rows"""
    aggregates_of_changes = Config(choice(*OnAggregates), OnAggregates.FAIL, ignored_by=(Strategy.AUTO,))
    """what to do when the SQL aggregates captured changes. `allow` is correct only if no group has rows in more than
    one run ([rules](patterns.md#aggregates-of-the-changes-alone))"""
    on_history_break = Config(ON_BREAK, DEFAULT_ON_BREAK, only_here=True)
    """what to do when the source's history does not lead from the checkpoint to its current snapshot
    ([causes](guarantees.md#breaks-in-a-sources-history)). Set one value for all causes, or a mapping by cause"""
    on_missing_checkpoint = Config(choice(*OnBreak), OnBreak.FAIL, only_here=True)
    """what to do when the table exists but has no checkpoint of this model"""
    on_sql_change = Config(choice(*OnSqlChange), None)
    """what to do when the logic of the model has changed since the table was built
    ([rules](guarantees.md#edited-models)). `warn` applies the new SQL to new rows only. `auto` accepts only
    `full_refresh`, its default, and `fail`"""
    on_schema_change = Config(choice(*ON_SCHEMA_CHANGE), ON_SCHEMA_CHANGE[0])
    """as in dbt's `incremental`, except that differences that would lose values are [errors](guarantees.md#the-target).
    With `ignore`, a column that the SQL no longer returns is an error"""
    max_snapshots_per_run = Config(COUNT, None, only_here=True)
    """limits the number of commits of each source that an incremental run reads. Later runs read the rest"""
    max_bytes_per_run = Config(COUNT, None, only_here=True)
    """limits the bytes of each source that an incremental run reads. A run always reads at least one commit"""
    hold_source = Config(DURATION, None, only_here=True)
    """tags the snapshot from which the model continues, in each source whose changes it reads, so that
    `expire_snapshots` does not remove unread rows ([rules](guarantees.md#held-positions))"""
    audit = Config(FLAG, default=False, only_here=True)
    """runs the model's generic data tests before readers can see the new rows ([rules](guarantees.md#audits))"""
    merge_fixed_columns = Config(COLUMNS, (), refused_by=(*_UNKEYED, Strategy.HISTORY), only_here=True)
    """columns that never change for a key, such as the partition column. `merge` and `apply_changes` then search for
    old rows only where these columns have the values of the changed rows"""
    merge_update_columns = Config(COLUMNS, (), refused_by=(Strategy.HISTORY,), ignored_by=(Strategy.AUTO,))
    """the columns that an update sets, as in dbt. One MERGE statement then writes all rows"""
    merge_exclude_columns = Config(COLUMNS, (), refused_by=(Strategy.HISTORY,), ignored_by=(Strategy.AUTO,))
    """the columns that an update leaves unchanged, as in dbt. One MERGE statement then writes all rows"""
    incremental_predicates = Config(
        _unchecked("a condition, or a list of conditions"),
        None,
        refused_by=(Strategy.HISTORY,),
        ignored_by=(Strategy.AUTO,),
    )
    """additional conditions of a match, as in dbt. All rows are then written by one MERGE statement"""
    partition_by = Config(_unchecked("a column or a transform of one, or a list of these"), None)
    """the partitioning of the table: `years(c)`, `months(c)`, `days(c)`, `hours(c)`, `bucket(16, c)`,
    `truncate(4, c)`. Required by `insert_overwrite`"""
    sort_by = Config(_unchecked("a column or a transform of one, or a list of these"), None)
    """the order of rows in each file ([files in order](patterns.md#files-in-order))"""
    tblproperties = Config(PROPERTIES, None)
    """properties of the Iceberg table. By default, tables of `auto`, `merge`, `apply_changes` and `history` are format
    v3 and merge-on-read"""
    full_refresh = Config(_unchecked("true or false"), None)
    """as in dbt. With `false`, policies never rebuild the model"""
    catalog_name = Config(_unchecked("a name"), None)
    """a catalog in [catalogs.yml](production.md#catalogsyml). The model is built in its Spark catalog"""
    file_format = Config(choice("iceberg", or_empty=True), "iceberg")
    """can be omitted, because every table is an Iceberg table"""

    @property
    def narrowing(self) -> list[str]:
        """The configs with which a MERGE keeps parts of a matched row, or matches by more than the key."""
        names = ("merge_update_columns", "merge_exclude_columns", "incremental_predicates", "predicates")
        return [name for name in names if self.given.get(name)]

    def check(self) -> None:
        """Add the errors of all values to ``wrong``, and the configs that the strategy refuses."""
        for name, config in self.table().items():
            if self.incremental_strategy in config.refused_by and self.given.get(name) not in (None, "", [], (), False):
                self.wrong.append(config.refusal)
            else:
                self.read(config)

    def policy(self) -> Policy:
        """The policy with these configs. It has defaults instead of the values that are errors."""
        strategy, is_auto = self.incremental_strategy, self.incremental_strategy is Strategy.AUTO
        return Policy(
            strategy=strategy,
            unique_key=self.unique_key,
            on_source_rewrite=self.on_source_rewrite,
            on_history_break=self.on_history_break,
            on_missing_checkpoint=self.on_missing_checkpoint,
            on_sql_change=self.on_sql_change or (OnSqlChange.FULL_REFRESH if is_auto else OnSqlChange.WARN),
            may_rebuild=self.full_refresh is not False,
            max_snapshots=self.max_snapshots_per_run,
            max_bytes=self.max_bytes_per_run,
            fixed_columns=self.merge_fixed_columns,
            sequence_by=self.sequence_by,
            replaces_rows=strategy.is_keyed and not self.narrowing,
            hold=self.hold_source,
            audit=self.audit,
            on_aggregates=self.aggregates_of_changes,
            on_not_incremental=self.on_not_incremental,
            rebuild_above=self.rebuild_above,
            history=self.history() if strategy is Strategy.HISTORY else None,
        )

    def history(self) -> HistoryConfig:
        """The configs of a history table, or of a dbt snapshot."""
        return HistoryConfig(
            self.unique_key,
            self.check_cols,
            self.hard_deletes,
            self.dbt_valid_to_current,
            self.snapshot_meta_column_names,
            self.sequence_by[0] if self.sequence_by else None,
        )


class NodeConfigs(Configs):
    """The configs that dbt or the adapter also reads for nodes with other materializations."""

    event_time = Config(_unchecked("a column"), None)
    """as in dbt's microbatch: with `--event-time-start` and `--event-time-end`, a `merge` or `insert_overwrite` model
    reprocesses that window and keeps its checkpoint ([backfills](patterns.md#backfills))"""
    database = Config(_unchecked("a name"), None)
    """the Spark catalog that the model is built in, by default the profile's `catalog`"""
    location_root = Config(_unchecked("a location"), None)
    """stores the table in `<location_root>/<alias>`"""
    ip_incremental = Config(FLAG, default=True)
    """for dbt snapshots. With `false`, each run compares whole tables instead of the changed keys
    ([rules](history.md#dbt-snapshots))"""
    clone_as = Config(choice("clone", "table", "view", or_empty=True), "clone")
    """what `dbt clone` creates: a table with the same files, a copy, or a view ([clones](clones.md))"""
    clone_retention = Config(DURATION, RETENTION)
    """how long the origin of a clone keeps the files that the clone shares ([clones](clones.md))"""
