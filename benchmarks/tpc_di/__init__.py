"""Measures a pipeline of 49 plain SQL models over the sources of a brokerage, modelled on TPC-DI."""
