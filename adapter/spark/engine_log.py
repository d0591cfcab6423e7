"""Forwards the engine's log to dbt's log."""

from __future__ import annotations

import logging

from dbt.adapters.events.logging import AdapterLogger

ENGINE = "iceberg_incremental"


class _ToDbt(logging.Handler):
    """Passes records to dbt, which writes them with its timestamps and in its format."""

    def __init__(self) -> None:
        super().__init__()
        self._logger = AdapterLogger("SparkIceberg")

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record at its level."""
        getattr(self._logger, record.levelname.lower())(record.getMessage())


def forward() -> None:
    """Let dbt log the engine's records in this process. Later calls have no effect."""
    logger = logging.getLogger(ENGINE)
    if not any(isinstance(each, _ToDbt) for each in logger.handlers):
        logger.addHandler(_ToDbt())
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
