"""Spark as the engine reaches it: one port, which each kind of connection implements."""
