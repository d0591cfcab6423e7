"""Which relations' changes a model may read, according to its Jinja."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_iceberg.project.conditional_reads import reads_of
from iceberg_incremental.plan.conditional_reads import ConditionalReads
from iceberg_incremental.table.history import TableName

EVENTS, NAMES, OTHER = (TableName("lake", "shop", name) for name in ("events", "names", "other"))
PARENTS = {
    EVENTS: {"resource_type": "source", "source_name": "raw", "name": "events"},
    NAMES: {"resource_type": "model", "name": "names"},
    OTHER: {"resource_type": "model", "name": "other"},
}


def reads(sql: str, **macros: str) -> ConditionalReads:
    return reads_of({"raw_code": sql}, PARENTS, {name: [text] for name, text in macros.items()})


def included(found: ConditionalReads) -> set[str]:
    return {table.name for table in PARENTS if found.include(table)}


INCREMENTAL = "{% if is_incremental() %}"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("{{ ip_as_of(ref('names')) }}", set()),
        ("{{ ip_changes(source('raw', 'events')) }}", set()),  # captured in every run
        (INCREMENTAL + "{{ ip_changes(ref('names')) }}{% else %}{{ ip_as_of(ref('names')) }}{% endif %}", {"names"}),
        ("{% if not is_incremental() %}x{% else %}{{ ip_changelog(ref('names'), 'id') }}{% endif %}", {"names"}),
        ("{% if a %}x{% elif b %}{{ ip_changes(source('raw', 'events')) }}{% endif %}", {"events"}),
        ("{{ ip_changes(ref('names')) if is_incremental() else ip_as_of(ref('names')) }}", {"names"}),
        ("{{ is_incremental() and ip_changes(ref('names')) }}", {"names"}),
        ("{% set n = ref('names') %}" + INCREMENTAL + "{{ ip_changes(n) }}{% endif %}", {"names"}),
        (INCREMENTAL + "{% set r = ip_range([ref('names'), ref('other')], 'd') %}{% endif %}", {"names", "other"}),
        (INCREMENTAL + "{{ ip_changes(relation=ref('shop', 'names')) }}{% endif %}", {"names"}),
        (INCREMENTAL + "{{ dbt_spark_iceberg.ip_changes(ref('names')) }}{% endif %}", {"names"}),
        (INCREMENTAL + "{{ ip_changed_groups(ref('names'), 'id') }}{% endif %}", {"names"}),
        (INCREMENTAL + "{{ ip_signed_changes(ref('names')) }}{% endif %}", {"names"}),
        (INCREMENTAL + "{{ ip_changed_groups(ref('names'), 'id', [ref('other')]) }}{% endif %}", {"other"}),
        (INCREMENTAL + "{{ ip_changes(source('raw', var('t'))) }}{% endif %}", {"events"}),
        (INCREMENTAL + "{{ ip_changes(any_relation) }}{% endif %}", {"events", "names", "other"}),
        ("{% for t in tables %}{{ ip_changes(source('raw', t)) }}{% endfor %}{{ ip_as_of(ref('names')) }}", set()),
        ("{% for t in tables if t.due %}{{ ip_changes(ref(t)) }}{% endfor %}", {"names", "other"}),
        ("{% for r in [ref('names')] %}{% if a %}{{ ip_changes(r) }}{% endif %}{% endfor %}", {"names"}),
        ("{% for r in [ref('names'), ref('other')] %}{{ ip_changes(r) }}{% endfor %}", set()),
        ("{{ ip_changes(ref('names') if a else ref('other')) }}{{ ip_as_of(ref('other')) }}", {"names", "other"}),
        (
            "{% set n = ref('names') %}{% if a %}{% set n = ref('other') %}{% endif %}{{ ip_changes(n) }}",
            {"names", "other"},
        ),
        ("{% do x.append(1) %}{# {% if a %}{{ ip_changes(ref('names')) }} #}", set()),
    ],
)
def test_reads_under_a_condition(sql: str, expected: set[str]) -> None:
    assert included(reads(sql)) == expected


CONDITIONAL = "{% macro both(r) %}{{ ip_changes(r) if is_incremental() else ip_as_of(r) }}{% endmacro %}"
PLAIN = "{% macro new(r) %}{{ ip_changes(r) }}{% endmacro %}"
DISPATCHED = "{% macro through(r) %}{{ return(adapter.dispatch('both')(r)) }}{% endmacro %}"
ITSELF = "{% macro again(r) %}{{ again(r) }}{% endmacro %}"
EVERY = {"events", "names", "other"}


@pytest.mark.parametrize(
    ("sql", "macros", "expected"),
    [
        ("{{ both(ref('names')) }}", {"both": CONDITIONAL}, EVERY),
        ("{{ shop.through(ref('names')) }}", {"both": CONDITIONAL, "through": DISPATCHED}, EVERY),
        ("{{ new(ref('names')) }}", {"new": PLAIN}, set()),  # captured in every run
        (INCREMENTAL + "{{ new(ref('names')) }}{% endif %}", {"new": PLAIN}, EVERY),
        (INCREMENTAL + "{{ again(ref('names')) }}{% endif %}", {"again": ITSELF}, set()),
        ("{{ broken() }}", {"broken": "{% macro broken() %}{% if %}"}, EVERY),
        ("{{ dbt_utils.star(ref('names')) }}", {}, set()),
    ],
)
def test_macros_of_the_project(sql: str, macros: dict[str, str], expected: set[str]) -> None:
    assert included(reads(sql, **macros)) == expected


@pytest.mark.parametrize(
    ("sql", "macros", "expected"),
    [
        (INCREMENTAL + "{{ new(ref('names')) }}{% endif %}{{ ip_as_of(ref('other')) }}", {"new": PLAIN}, {NAMES}),
        (INCREMENTAL + "{{ new(r=ref('names')) }}{% endif %}", {"new": PLAIN}, {NAMES}),
        ("{% set n = ref('names') %}{{ shop.through(n) }}", {"both": CONDITIONAL, "through": DISPATCHED}, {NAMES}),
        (
            "{{ own() }}",
            {"own": "{% macro own() %}{% if a %}{{ ip_changes(ref('other')) }}{% endif %}{% endmacro %}"},
            {OTHER},
        ),
        ("{{ new(ref('names')) }}", {"new": PLAIN}, set()),
    ],
)
def test_relations_whose_changes_a_macro_may_read(sql: str, macros: dict[str, str], expected: set[TableName]) -> None:
    """If a run reads them only as a whole, their changes are left to later runs."""
    assert reads(sql, **macros).changes == expected


def test_net_changes_and_changes_are_distinguished() -> None:
    net = INCREMENTAL + "{{ ip_changelog(ref('names')) }}{% endif %}"
    assert reads(net).are_net(NAMES)
    assert not reads(net + INCREMENTAL + "{{ ip_changes(ref('names')) }}{% endif %}").are_net(NAMES)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (INCREMENTAL + "{{ ip_changes(ref('names')) }}{% endif %}", {NAMES}),
        ("{% if is_incremental() and var('x') %}{{ ip_changes(ref('names')) }}{% endif %}", set()),
        (INCREMENTAL + "{% if var('x') %}{{ ip_changes(ref('names')) }}{% endif %}{% endif %}", set()),
        ("{% if is_incremental() or var('x') %}{{ ip_changes(ref('names')) }}{% endif %}", set()),
        ("{% if not is_incremental() %}x{% else %}{{ ip_changes(ref('names')) }}{% endif %}", {NAMES}),
        ("{% if not is_incremental() %}{{ ip_changes(ref('names')) }}{% endif %}", set()),
        ("{% if var('x') %}{{ ip_changes(ref('names')) }}{% endif %}", set()),
    ],
)
def test_reads_that_a_first_build_never_reaches(sql: str, expected: set[TableName]) -> None:
    found = reads(sql)
    assert (found.only_incremental, found.has_incremental_calls) == (frozenset(expected), bool(expected))


RAW = TableName("lake", "shop", "zones")
WITH_ZONES = {**PARENTS, RAW: {"resource_type": "source", "source_name": "raw", "name": "zones"}}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("{{ ip_changes(source('raw', 'events')) }}", {EVENTS}),
        ("{% set n = ref('names') %}{{ ip_changelog(n, 'id') }}", {NAMES}),
        ("{% set r = ip_range([ref('names'), ref('other')], 'd') %}", {NAMES, OTHER}),
        (INCREMENTAL + "{{ ip_changes(ref('names')) }}{% endif %}", set()),
        ("{{ ip_as_of(ref('names')) }}", set()),
        ("{% for t in ['events'] %}{{ ip_changes(source('raw', t)) }}{% endfor %}{{ source('raw', 'zones') }}", set()),
        ("{% set n = ref('names') %}{% if a %}{% set n = ref('other') %}{% endif %}{{ ip_changes(n) }}", set()),
        ("{{ ip_changes(ref('names') if a else ref('other')) }}", set()),
        ("{% for r in [ref('names'), ref('other')] %}{{ ip_changes(r) }}{% endfor %}", {NAMES, OTHER}),
        ("{% for r in [ref('names')] if a %}{{ ip_changes(r) }}{% endfor %}", set()),
    ],
)
def test_reads_that_certainly_occur_in_every_run(sql: str, expected: set[TableName]) -> None:
    assert reads_of({"raw_code": sql}, WITH_ZONES, {}).always == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("{{ ip_changelog(ref('names')) }}", True),
        ("{{ ip_signed_changes(ref('names')) }}", True),
        ("{{ ip_changes(ref('names')) }}", False),
        ("{{ ip_changelog(ref('names')) }}{{ ip_changes(ref('names')) }}", False),
        ("{{ ip_changelog(ref('names')) }}" + INCREMENTAL + "{{ ip_changes(ref('names')) }}{% endif %}", False),
        (INCREMENTAL + "{{ ip_changelog(ref('names')) }}{% endif %}", None),
        ("{{ ip_as_of(ref('names')) }}", None),
        ("{{ ip_changelog(ref('names')) }}{{ hidden() }}", None),
    ],
)
def test_whether_every_run_reads_net_changes(sql: str, expected: bool | None) -> None:
    macros = {"hidden": ["{% macro hidden() %}{% if a %}{{ ip_changes(ref('names')) }}{% endif %}{% endmacro %}"]}
    assert reads_of({"raw_code": sql}, WITH_ZONES, macros).are_always_net(NAMES) is expected


def test_whether_every_run_of_a_python_model_reads_net_changes() -> None:
    code = "def model(dbt, session):\n    return dbt.ip_{}(dbt.ref('names'))"
    for macro, expected in (("changes", False), ("changelog", True)):
        node = {"raw_code": code.format(macro), "language": "python", "unique_id": "model.shop.m"}
        assert reads_of(node, WITH_ZONES, {}).are_always_net(NAMES) is expected


def test_relations_that_every_run_reads_completely() -> None:
    sql = (
        "{{ ip_as_of(ref('names')) }}{% if a %}{{ ip_as_of(source('raw', 'zones')) }}{% endif %}"
        "{{ ip_changed_groups(source('raw', 'events'), 'k', changes_of=ref('other')) }}"
    )
    assert reads_of({"raw_code": sql}, WITH_ZONES, {}).whole == {NAMES, EVENTS}
