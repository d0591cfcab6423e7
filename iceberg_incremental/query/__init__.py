"""Plain SQL that is kept up to date: which rows of a query's result a change of its sources can affect; pure.

dialect      Spark's SQL as sqlglot reads it, function calls verbatim
functions    what Spark's functions are: aggregates, generators, volatile ones
refusal      why a query is not incremental
reading      the text of a query as a tree whose names are resolved
relations    the relations of a FROM clause, also those of joins in parentheses
supported    the list of what a query may consist of
normal       the same tree in fewer forms: no right joins, no semi joins, no joins in parentheses, no GROUP BY ALL
blocks       one block for each SELECT
together     which rows of a block's result belong together: its groups, its partitions
stable       values that may be different each time although no source has changed
subqueries   the subqueries in a SELECT's expressions
changed      the rows of a block that a change of its sources can affect
restricted   a query whose sources are restricted to some keys
incremental_query   the whole: the columns by which rows are replaced, and the SQL of a run
"""
