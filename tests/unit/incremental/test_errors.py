"""The parts of an error, and its message."""

from __future__ import annotations

import pickle

from iceberg_incremental.errors import ConfigError, message


def test_the_parts_of_a_message():
    assert message("It is wrong.") == "It is wrong."
    assert message("It is wrong.", expected="a.", found="b.", fix="set a.") == (
        "It is wrong.\n  Expected: a.\n  Found: b.\n  To fix: set a."
    )
    assert message("It is wrong.", found="\n    a\n    b", state="Nothing was written.", fix=("set a", "set b")) == (
        "It is wrong.\n  Found:\n    a\n    b\n  Nothing was written. To fix, one of:\n    1. set a\n    2. set b"
    )


def test_one_of_several_ways_is_not_numbered():
    assert message("It is wrong.", fix=["set a"]) == message("It is wrong.", fix="set a")


def test_a_named_error_names_its_entry():
    error = ConfigError("It is wrong.", fix="set a.")
    assert str(error) == error.msg == "It is wrong.\n  To fix: set a."
    assert (
        str(error.named("is-wrong"))
        == f"{message('It is wrong.', fix='set a.')}\n  More: dbt-spark-iceberg explain is-wrong"
    )


def test_an_error_from_another_process_has_all_parts():
    error = ConfigError("It is wrong.", expected="a.", fix=["set a", "set b"]).named("is-wrong")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
