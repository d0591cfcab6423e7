"""Staging rows, and publishing them with their checkpoint in one commit."""
