"""The rules by which a query is updated: one case for each operator of ``algebra.nodes``."""
