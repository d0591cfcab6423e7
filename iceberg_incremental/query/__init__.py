"""Incremental plain SQL: the rows of a query's result that a change of its sources can affect. Pure functions.

text      the text of a query: parsing, Spark's functions and types, the comparison with Spark's plan
algebra   a query as a tree of operators: ``nodes``, ``build`` (text to tree), ``sql`` (tree to text)
rules     one case for each operator: ``changed`` (the affected rows), ``delta`` (their exact difference), ``keys``,
          ``restrict``, ``steady`` and ``cost``
states    the states of the tables that a run reads
any_sql   a tree of any query, to follow its columns: for column lineage, and for SQL over captured changes
plan      the result: the columns by which rows are replaced, and the SQL of a run
"""
