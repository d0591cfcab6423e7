"""The session's settings, looked at before a statement of ours runs under them."""

from __future__ import annotations

from ..explain import model_errors
from ..plan import session_settings
from .port import Spark


def require_settings(spark: Spark, who: str, *, everywhere: bool = False) -> None:
    """Raise ConfigError under settings of the session with which our SQL would mean something else.

    ``who``: what would run under them. ``everywhere``: only those that also harm what is no incremental processing.
    """
    keys = [each.key for each in session_settings.REFUSED]
    found = session_settings.refused_in(spark.settings(keys), everywhere=everywhere)
    if found:
        raise model_errors.refused_settings(who, found)
