from ..incremental.conftest import asked_of_spark, shop  # noqa: F401 (fixtures)
