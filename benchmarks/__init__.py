"""Measures the cost of the package relative to hand-written statements and common alternatives."""
