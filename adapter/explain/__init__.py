"""The sentences of what only dbt's users see: operations, data tests, Python models, ``watch``."""
