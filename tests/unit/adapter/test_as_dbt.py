from __future__ import annotations

from types import SimpleNamespace

import pytest
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from dbt.adapters.spark_iceberg.as_dbt import AsDbt
from iceberg_incremental.errors import ArgumentsError, SourceError


class Namespace:
    def answer(self, value: int, *, more: int = 0) -> int:
        return value + more

    def fail(self, kind: type[Exception]) -> None:
        raise kind("why")


SEEN = AsDbt(SimpleNamespace(room=Namespace()))


def test_methods_of_attributes_are_called_unchanged():
    assert SEEN.room.answer(1, more=2) == 3


@pytest.mark.parametrize(("raised", "shown"), [(SourceError, DbtRuntimeError), (ArgumentsError, CompilationError)])
def test_their_errors_become_dbt_errors(raised, shown):
    with pytest.raises(shown, match="why") as caught:
        SEEN.room.fail(raised)
    assert isinstance(caught.value.__cause__, raised)


def test_other_errors_are_raised_unchanged():
    with pytest.raises(KeyError):
        SEEN.room.fail(KeyError)


def test_an_unknown_name():
    with pytest.raises(AttributeError):
        SEEN.room.nothing()
