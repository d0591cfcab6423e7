"""A query as a tree of relational operators: ``nodes``, how a text becomes a tree, and how a tree becomes SQL."""
