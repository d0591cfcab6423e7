"""Maintenance: what a table's metadata say is worth doing for it, without harm to those who read it; pure."""
