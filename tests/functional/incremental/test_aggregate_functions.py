"""The aggregate functions of Spark, which SQL over captured changes must not use, are all recognized."""

from __future__ import annotations

from iceberg_incremental.query.text import functions
from iceberg_incremental.spark.java import java_class

_GROUP = "agg_funcs"
"""The name of the group in the documentation of Spark's functions."""
_OF_GROUPING_SETS = {"grouping", "grouping_id"}
"""Functions of the group that depend only on the query, and not on the rows."""


def test_every_aggregate_function_of_spark(outside):
    session = outside.session
    registry = java_class(session, "org.apache.spark.sql.catalyst.analysis.FunctionRegistry$")
    builtin = getattr(registry, "MODULE$").builtin()
    listed = builtin.listFunction()
    infos = [builtin.lookupFunction(listed.apply(place)).get() for place in range(listed.size())]
    names = {each.getName() for each in infos if each.getGroup() == _GROUP} - _OF_GROUPING_SETS
    assert {"sum", "listagg", "count_min_sketch"} <= names
    assert sorted(names - functions.AGGREGATES - functions.UNSUPPORTED_AGGREGATES) == []
