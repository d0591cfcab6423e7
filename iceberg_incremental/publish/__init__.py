"""Stages rows, and publishes them with their checkpoint in one commit."""
