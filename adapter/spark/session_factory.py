"""The user's own Spark session, from the Python function that the profile names as ``session_factory``."""

from __future__ import annotations

import importlib
import re
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from dbt_common.exceptions import DbtDatabaseError

from ..as_dbt import dbt_error
from ..profile.credentials import Method
from .messages import cause, describe

_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
_KINDS = {
    "pyspark.sql.session": Method.SESSION,
    "pyspark.sql.connect.session": Method.CONNECT,
}
"""The connection methods, by the module of PySpark's class of sessions."""

_lock = threading.Lock()
_given: dict[str, Any] = {}


def given_session(path: str, method: Method) -> Any:
    """The session that the function returns. ``path``: ``package.module:function``.

    The function is called once per process, and again after ``forget``, or if its session was stopped. Raises
    DbtRuntimeError, with the fix, if there is no such function, if it raises an error, or if it returns anything but a
    session for the connection method.
    """
    with _lock:
        if path not in _given or has_stopped(_given[path]):
            _given[path] = _called(path, method)
        return _given[path]


def forget(path: str) -> None:
    """Call the function again for the next connection, because its session cannot be used."""
    with _lock:
        _given.pop(path, None)


def has_stopped(session: Any) -> bool:
    """Whether a session of either kind was stopped."""
    return bool(session.is_stopped if Method.CONNECT in _methods(session) else session._sc._jsc is None)


def own_settings(of_given: Mapping[str, str], of_new: Mapping[str, str]) -> dict[str, str]:
    """The SQL settings that the function has set in its session, and that a new session therefore lacks."""
    return {key: value for key, value in of_given.items() if key.startswith("spark.sql.") and of_new.get(key) != value}


def _called(path: str, method: Method) -> Any:
    function = _function(path)
    try:
        session = function()
    except Exception as error:  # noqa: BLE001 (raised as dbt's own)
        raise DbtDatabaseError(f"`session_factory: {path}` raised an error: {describe(error)}") from cause(error)
    kinds = _methods(session)
    if method not in kinds:
        found = f"{type(session).__module__}.{type(session).__qualname__}"
        raise dbt_error(
            f"`session_factory: {path}` returned no session for `method: {method}`.",
            expected="a SparkSession of Spark Connect (pyspark.sql.connect.session)."
            if method == Method.CONNECT
            else "a SparkSession with Spark's driver in this process (pyspark.sql.session).",
            found=f"{found}.",
            fix=f"set `method: {kinds[0]}`." if kinds else "return the session from the function.",
        )
    return session


def _methods(session: object) -> list[Method]:
    """The connection methods for which an object is a session. Empty for other objects."""
    return [_KINDS[each.__module__] for each in type(session).__mro__ if each.__module__ in _KINDS]


def _function(path: str) -> Callable[[], Any]:
    if not _PATH.fullmatch(path):
        raise dbt_error(
            f"`session_factory` is {path!r}.",
            expected="a Python function without arguments, as package.module:function.",
            fix="correct it in profiles.yml.",
        )
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except Exception as error:
        raise dbt_error(
            f"`session_factory: {path}` cannot be imported: {describe(error)}",
            expected=f"the module {module}, installed for {sys.executable} or in a folder of PYTHONPATH.",
            fix="install the module, set PYTHONPATH, or correct `session_factory` in profiles.yml.",
        ) from error
    if not callable(found):
        raise dbt_error(
            f"`session_factory: {path}` is not a function.",
            expected=f"a function {name} without arguments in the module {module}.",
            found="no such name." if found is None else f"a value of type {type(found).__name__}.",
            fix="correct `session_factory` in profiles.yml.",
        )
    return found  # type: ignore[no-any-return] # callable() does not tell what a call returns
