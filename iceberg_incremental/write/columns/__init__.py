"""Columns and keys: what a statement writes, which types are stored without loss, and which values are equal."""
