from collections import Counter
from inspect import isfunction

from dbt.adapters.spark_iceberg.hooks import IncrementalHooks
from dbt.adapters.spark_iceberg.hooks.base import BaseHooks


def test_no_part_of_the_hooks_hides_a_method_of_another():
    """They become one class, in which a name has one meaning, a private one too."""
    parts = [each for each in IncrementalHooks.__mro__[1:] if issubclass(each, BaseHooks) and each is not BaseHooks]
    assert len(parts) > 5
    names = Counter(name for part in parts for name, value in vars(part).items() if isfunction(value))
    assert [name for name, count in names.items() if count > 1] == []
