"""Captured ranges as SQL text."""
