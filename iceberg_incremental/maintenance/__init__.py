"""Maintenance: the steps that a table's metadata calls for, without harm to its readers. Pure functions."""
