"""Incremental processing: capture, expose, build, commit."""
