"""Measures the queries of TPC-H as models with the strategy ``auto``, while orders and their lines change."""
