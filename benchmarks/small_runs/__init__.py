"""Measures runs with little work: of one model, and of a pipeline of many small models."""
