from ..incremental.conftest import asked_of_spark, outside, shop  # noqa: F401 (fixtures)
