"""The steps of a source that add, change or delete rows, and the statements that match no rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from .kinds import Row
from .library_steps import add_moved_file, delete_by_equality, undelete
from .sources import DAYS, FIRST_DAY, Effect, Numbers, Source, StepFunction, day_of, literal, with_values
from .spellings import NUMBER, Spelling
from .tables import REWRITE, Commit


def _some(source: Source, numbers: Numbers) -> tuple[str, Callable[[Row], bool]]:
    """A predicate that no file's bounds can decide, in SQL and in Python."""
    modulus = 2 + numbers[0] % 3
    rest = numbers[1] % modulus

    def is_one(row: Row) -> bool:
        return row[0] is not None and row[0] % modulus == rest

    spelling = source.variant.id
    if spelling is NUMBER:
        return f"id % {modulus} = {rest}", is_one
    return _is_one_of(spelling, [row[0] for row in source.known() if is_one(row)]), is_one


def _is_one_of(spelling: Spelling, ids: Iterable[int]) -> str:
    """Whether a row has one of these ids. Iceberg cannot evaluate this form with its bounds, which may be wrong."""
    listed = ", ".join(f"'{spelling.value(each)}'" for each in (-1, *ids))
    return f"string({spelling.shown.format('id')}) in ({listed})"


# Added rows


def append(source: Source, numbers: Numbers) -> Effect:
    return source.insert(source.fresh(numbers[: 1 + numbers[-1] % 3]))


def append_more(source: Source, numbers: Numbers) -> Effect:
    """Enough rows for a file in which most statements leave some rows unchanged."""
    return source.insert(source.fresh(numbers))


def insert_again(source: Source, numbers: Numbers) -> Effect:
    """Insert ids again that were deleted."""
    gone = sorted(set(range(1, source.last_id + 1)) - {row[0] for row in source.rows})
    if not source.variant.keyed or not gone:
        return append(source, numbers)
    row = (gone[numbers[0] % len(gone)], numbers[1] % 4, day_of(numbers[2] % DAYS), numbers[3] % 13, "again", None)
    return source.insert([row])


def merge_new(source: Source, numbers: Numbers) -> Effect:
    return _merge(source, [], _unmatched(source, numbers[:2]), 0)


def overwrite_empty(source: Source, numbers: Numbers) -> Effect:
    """Overwrite a partition that never existed, which only adds rows."""
    partition = source.variant.partition
    if partition is None:
        return append(source, numbers)
    source.last_other += 1
    other: Any = day_of(source.last_other) if partition == "day" else source.last_other
    return _overwrite(source, source.fresh(numbers[:2], **{partition: other}))


def add_file(source: Source, numbers: Numbers) -> Effect | None:
    """Add another writer's file. If rows may repeat, it is sometimes a file that the table already has."""
    if source.variant.partition is not None or source.is_altered:
        return None
    # Iceberg refuses every write to a table with a deletion vector that is older than its file
    has_vectors = source.version == 3 and REWRITE in source.commits.values()
    again = bool(source.files) and not source.variant.keyed and not has_vectors and numbers[0] % 3 > 0
    if again:
        path, rows = source.files[numbers[1] % len(source.files)]
        source.has_a_file_twice = True
        source.may_repeat_row_ids = source.version == 3
    elif source.version == 3 and source.variant.keyed and numbers[1] % 2:
        return add_moved_file(source, source.fresh(numbers[2:4]))
    else:
        path, rows = str(source.folder / f"file_{len(source.order)}_{numbers[1]}"), Counter(source.fresh(numbers[2:4]))
        source.files.append((path, rows))
    sql = (
        f"call {source.catalog}.system.add_files(table => '{source.name}', source_table => '`parquet`.`{path}`', "
        "check_duplicate_files => false)"
    )
    first = None if again else f"insert overwrite directory '{path}' using parquet {source.selected(rows.elements())}"
    return Effect(sql, source.rows + rows, Commit(rows), first=first)


# Changed or deleted rows


def update_pair(source: Source, numbers: Numbers) -> Effect:
    """Set two neighbours to the value with which a model swaps their keys, or to another if they have it already."""
    known = source.known()
    id_ = known[numbers[0] % len(known)][0] if known else 0
    pair = [id_ & ~1, id_ | 1]
    value = 5 if any(row[3] == 12 for row in known if row[0] in pair) else 12
    sql = f"update {source.name} set v = {value} where {_is_one_of(source.variant.id, pair)}"
    return source.changed(sql, lambda row: with_values(row, v=value) if row[0] in pair else row)


def update(source: Source, numbers: Numbers) -> Effect:
    predicate, is_one = _some(source, numbers)
    value = numbers[2] % 13
    sql = f"update {source.name} set v = {value} where {predicate}"
    return source.changed(sql, lambda row: with_values(row, v=value) if is_one(row) else row)


def update_same(source: Source, numbers: Numbers) -> Effect:
    predicate, is_one = _some(source, numbers)
    # a copy of the row, with the same values, but rewritten
    return source.changed(
        f"update {source.name} set v = v where {predicate}", lambda row: with_values(row) if is_one(row) else row
    )


def update_back(source: Source, numbers: Numbers) -> Effect | None:
    """Set rows back to the values of one or two commits ago."""
    older = source.ancestors(source.head)[1:3]
    if not source.variant.keyed or not older:
        return None
    then = {row[0]: row[3] for row in source.held.get(older[numbers[0] % len(older)], ())}
    back = {row[0]: then[row[0]] for row in source.known() if then.get(row[0], row[3]) != row[3]}
    if not back:
        return None
    cases = " ".join(f"when {source.variant.id.literal(id_)} then {literal(value)}" for id_, value in back.items())
    where = _is_one_of(source.variant.id, back)
    return source.changed(
        f"update {source.name} set v = case id {cases} end where {where}",
        lambda row: with_values(row, v=back[row[0]]) if row[0] in back else row,
    )


def update_partition(source: Source, numbers: Numbers) -> Effect:
    predicate, is_one = _some(source, numbers)
    first = literal(FIRST_DAY)
    later = f"date_add({first}, (datediff(day, {first}) + 1) % {DAYS})"
    return source.changed(
        f"update {source.name} set day = {later} where {predicate}",
        lambda row: with_values(row, day=day_of(((row[2] - FIRST_DAY).days + 1) % DAYS)) if is_one(row) else row,
    )


def update_unread(source: Source, numbers: Numbers) -> Effect:
    """Change columns that no model reads."""
    predicate, is_one = _some(source, numbers)
    name, column = ("w", "w") if source.has_added and numbers[2] % 2 else ("u", source.unread)
    sql = f"update {source.name} set {column} = 'x{numbers[3] % 3}' where {predicate}"
    return source.changed(sql, lambda row: with_values(row, **{name: f"x{numbers[3] % 3}"}) if is_one(row) else row)


def delete(source: Source, numbers: Numbers) -> Effect:
    predicate, is_one = _some(source, numbers)
    return source.changed(f"delete from {source.name} where {predicate}", lambda row: None if is_one(row) else row)


def delete_newest(source: Source, numbers: Numbers) -> Effect:
    ids = _newest(source, numbers)
    sql = f"delete from {source.name} where {_is_one_of(source.variant.id, ids)}"
    return source.changed(sql, lambda row: None if row[0] in ids else row)


def update_newest(source: Source, numbers: Numbers) -> Effect:
    ids, value = _newest(source, numbers), numbers[2] % 13
    sql = f"update {source.name} set v = {value} where {_is_one_of(source.variant.id, ids)}"
    return source.changed(sql, lambda row: with_values(row, v=value) if row[0] in ids else row)


def _newest(source: Source, numbers: Numbers) -> set[int]:
    """One to three of the newest ids."""
    return {source.last_id - each for each in range(1 + numbers[0] % 3)}


def delete_partition(source: Source, numbers: Numbers) -> Effect | None:
    days = sorted({row[2] for row in source.rows})
    if not days:
        return None
    day = days[numbers[0] % len(days)]
    sql = f"delete from {source.name} where day = {literal(day)}"
    return source.changed(sql, lambda row: None if row[2] == day else row)


def truncate(source: Source, numbers: Numbers) -> Effect | None:
    return source.changed(f"truncate table {source.name}", lambda row: None) if source.rows else None


def merge(source: Source, numbers: Numbers) -> Effect:
    known = source.known()
    chosen = {row[0]: row for row in (known[number % len(known)] for number in numbers[:2])} if known else {}
    return _merge(source, list(chosen.values()), _unmatched(source, numbers[2 : 2 + numbers[5] % 3]), numbers[4] % 13)


def merge_delete(source: Source, numbers: Numbers) -> Effect | None:
    known = source.known()
    if not known:
        return None
    id_ = known[numbers[0] % len(known)][0]
    matching = f"using (select {source.variant.id.literal(id_)} as id) s on t.id = s.id"
    sql = f"merge into {source.name} t {matching} when matched then delete"
    return source.changed(sql, lambda row: None if row[0] == id_ else row)


def overwrite(source: Source, numbers: Numbers) -> Effect:
    """Overwrite a partition that has rows, or the whole table if it has no partitions."""
    partition = source.variant.partition
    if not source.rows:
        return append(source, numbers)
    if partition is None:
        return _overwrite(source, source.fresh(numbers[:2]))
    there = sorted({_value(row, partition) for row in source.rows})
    return _overwrite(source, source.fresh(numbers[:2], **{partition: there[numbers[2] % len(there)]}))


def _unmatched(source: Source, numbers: Iterable[int]) -> list[Row]:
    rows = source.fresh(numbers)
    if source.variant.keyed:
        return rows
    source.last_other += len(rows)  # ids that no row has
    return [with_values(row, id=source.last_other - n) for n, row in enumerate(rows)]


def _merge(source: Source, matched: list[Row], new: list[Row], value: int) -> Effect:
    ids = {row[0] for row in matched}
    names = source.listed
    listed = source.values([*matched, *new]) or f"({source.variant.id.literal(-1)}{', null' * names.count(',')})"
    sql = (
        f"merge into {source.name} t using (select * from values {listed} as c({names})) s on t.id = s.id "
        f"when matched then update set v = {value} when not matched then insert ({names}) "
        f"values ({', '.join(f's.{name}' for name in names.split(', '))})"
    )
    if not matched and not new:
        return source.changed(sql.partition(" when not matched")[0], lambda row: row)
    return source.changed(sql, lambda row: with_values(row, v=value) if row[0] in ids else row, Counter(new))


def _value(row: Row, partition: str) -> Any:
    return row[{"k": 1, "day": 2}[partition]]


def _overwrite(source: Source, rows: list[Row]) -> Effect:
    partition = source.variant.partition
    there = None if partition is None else {_value(row, partition) for row in rows}
    sql = f"insert overwrite {source.name} ({source.listed}) values {source.values(rows)}"
    effect = source.changed(
        sql,
        lambda row: None if partition is None or there is None or _value(row, partition) in there else row,
        Counter(rows),
    )
    return replace(effect, commit=replace(effect.commit, is_overwrite=True))


# Statements that match no rows


def insert_nothing(source: Source, numbers: Numbers) -> Effect:
    return Effect(f"insert into {source.name} select * from {source.name} where false", source.rows)


def update_nothing(source: Source, numbers: Numbers) -> Effect:
    return Effect(f"update {source.name} set v = 1 where id = {source.variant.id.literal(-1)}", source.rows)


def merge_nothing(source: Source, numbers: Numbers) -> Effect:
    return _merge(source, [], [], 1)


STEPS: dict[str, StepFunction] = {
    each.__name__: each
    for each in (
        append,
        append_more,
        insert_again,
        merge_new,
        overwrite_empty,
        add_file,
        update_pair,
        update,
        update_same,
        update_back,
        undelete,
        update_partition,
        update_unread,
        delete,
        delete_newest,
        update_newest,
        delete_by_equality,
        delete_partition,
        truncate,
        merge,
        merge_delete,
        overwrite,
        insert_nothing,
        update_nothing,
        merge_nothing,
    )
}
