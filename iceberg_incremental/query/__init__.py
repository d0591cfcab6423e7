"""Incremental plain SQL: the rows of a query's result that a change of its sources can affect. Pure functions.

The main modules:

dialect      the sqlglot dialect: Spark's SQL with verbatim function calls
functions    the kinds of Spark's functions: aggregates, generators, volatile functions
refusal      why a query is not incremental
qualify      the text of a query without QUALIFY
reading      the text of a query as a tree with resolved names
relations    the relations of a FROM clause, including those of joins in parentheses
listed_values  the values in VALUES, which a plan does not show
supported    the supported constructs of a query
normal       the tree in a normal form: no right joins, no semi joins, no joins in parentheses, no GROUP BY ALL
blocks       one block for each SELECT
together     which rows of a block's result belong together: its groups, its partitions
stable       values that can differ between computations although no source has changed
subqueries   the subqueries in a SELECT's expressions
membership   for which rows the value of a subquery can change
changed      the rows of a block that a change of its sources can affect
restricted   a query whose sources are restricted to certain keys
incremental_query   the result: the columns by which rows are replaced, and the SQL of a run
plans        whether Spark's plans of two texts represent the same query
"""
