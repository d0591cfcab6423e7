"""The methods that macros call while a model, snapshot or clone is built. They connect dbt to the engine."""
