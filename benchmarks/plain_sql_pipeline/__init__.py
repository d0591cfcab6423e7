"""Measures a typical dbt pipeline of twelve plain SQL models in three stages, while daily changes arrive."""
