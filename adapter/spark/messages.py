"""The relevant part of a Spark error: its message and root cause, without stack trace and query plan."""

from __future__ import annotations

import re
from typing import Any

from iceberg_incremental import errors
from iceberg_incremental.secrets import mask

from .connect import errors as connect_errors

_CONTINUES = "An iceberg_incremental_snapshot model continues from its last commit: no row is lost or duplicated."

_FULL = re.compile(r"No space left on device|Disk quota exceeded|SQLITE_FULL|database or disk is full|could not extend")
_MAKE_SPACE = errors.message("The disk or a quota is full.", fix=f"free some space, then run again. {_CONTINUES}")

_UNKNOWN = re.compile(r"CommitStateUnknownException|Cannot determine whether the commit was successful")
# Iceberg's advice to check the commit before repeating it. It is removed, because the next run checks the commit.
_ADVICE = re.compile(r"\s*Cannot determine whether the commit was successful.*?unused manifest lists\.?", re.DOTALL)
_LOST = errors.message(
    "The catalog's response to a commit was lost or was a server error. It is unknown whether the catalog completed "
    "the commit.",
    fix=f"run again when the catalog responds. {_CONTINUES} If the same server error recurs, the catalog cannot make "
    "this commit: see its message above and its log, and use a catalog that supports what the commit does.",
)

_NETWORK = (
    r"Connection refused|Connection reset|Connection closed|Broken pipe|[Cc]onnect timed out|Read timed out"
    r"|UnknownHost|NoRouteToHost|SocketException|EOFException"
    r"|failed to respond|Unexpected end of (?:file|stream)|Premature end of"
)
_CLIENTS = (
    # Iceberg's jdbc catalog and REST client, the drivers of PostgreSQL and SQLite, and the AWS SDK
    r"UncheckedSQLException|RESTException|ServiceFailureException|ServiceUnavailableException"
    r"|Error occurred while processing|I/O error occurred while sending to the backend|The connection attempt failed"
    r"|Connection to \S+ refused|This connection has been closed|SQLITE_IOERR"
    r"|Unable to execute HTTP request|Status Code: 5\d\d"
)
_DOWN = re.compile(f"{_NETWORK}|{_CLIENTS}")
_WAIT = errors.message(
    "The catalog or the tables' file storage was unreachable, or responded with an error.",
    fix=f"run again when it is available. {_CONTINUES}",
)
# A table with a branch, a snapshot or `changes` after its name. Iceberg first tries to load the whole name as a table.
# It then ignores every error that occurs while it loads the table itself.
_HIDDEN = re.compile(r"TABLE_OR_VIEW_NOT_FOUND\][^`]*(?:`[^`]+`\.){3,}`(?:branch_|tag_|snapshot_id_|changes`)")
_LOOK = errors.message(
    "Iceberg also reports this error if the catalog did not respond.",
    fix=f"if the table exists, run again. {_CONTINUES}",
)


def with_fix(shown: str) -> str:
    """A Spark error with a fix added, if a service or disk failed and the error has no fix yet."""
    if "To fix" in shown:
        return shown
    causes = ((_FULL, _MAKE_SPACE), (_UNKNOWN, _LOST), (_DOWN, _WAIT), (_HIDDEN, _LOOK))
    fix = next((text for cause, text in causes if cause.search(shown)), None)
    return shown if fix is None else f"{_ADVICE.sub('', shown)}\n{fix}"


_STACK = re.compile(r"^\s*(at [\w.$/<>]+\(|\.\.\. \d+ (more|common)|Suppressed: )")
# A plan starts with a node such as Project [id#1], or a command such as ReplaceTableAsSelect TableSpec(…).
_PLAN = re.compile(r"^\s*('|\+- |:- |!?[A-Z]\w* \[|[A-Z][a-z]+(?:[A-Z][a-z0-9]+)+ )")
_PLAN_AFTER = re.compile(r";\s*$")
_SERVER_PREFIX = re.compile(r"^(org\.apache\.hive\.service\.cli\.HiveSQLException: )?(Error running query: )?")
_MAX_LINES = 30
# The text that Spark adds to the message of raise_error.
_RAISED = re.compile(r"\[USER_RAISED_EXCEPTION\] (.*?)\s*SQLSTATE: P0001", re.DOTALL)


# The format of Spark's Connect client. The exception's class is before the message, and the stack trace after it. The
# class is redundant if the message has an error condition.
_OF_CLASS = re.compile(r"\((?:\w+\.)+(\w+)\) ")
_TRACE_FOLLOWS = "\n\nJVM stacktrace:"
_CAUSED_BY = re.compile(r"^Caused by: (?:\w+\.)*([\w$]+): (.*)$", re.MULTILINE)


def cause(error: BaseException) -> BaseException | None:
    """The cause of a new error. None if the text of the cause contains a credential, because dbt logs it."""
    text = str(error)
    return error if mask(text) == text else None


_NO_CLASS = "Cannot find catalog plugin class"
_NO_CLASS_FIX = (
    "\nSpark does not find the Iceberg runtime. On a server, add its jar to Spark's jars or"
    "\nspark.driver.extraClassPath, because a Thrift server unloads the jars of --packages and --jars when its"
    "\nfirst connection closes."
)

_NOT_HELD = re.compile(r"Checkpoint block \S+ not found")
_NOT_HELD_FIX = (
    "\nA Spark executor that held changes for the statements of this run was lost. Nothing of the run was published."
    "\nRun the model again."
)

_PARTITIONING = re.compile(
    r"Couldn't find column .* in:|Invalid source type .* for transform|Cannot add redundant partition"
    r"|duplicate column\(s\) in the partitioning"
)
_PARTITIONING_FIX = (
    "\nThis concerns partition_by: expected columns of the model's SQL, or transforms that suit their types,"
    "\nsuch as days(c) of a timestamp or date, bucket(16, c), truncate(4, c); each column once."
)

_NO_VIEWS = re.compile(r"(Creating|Replacing) a view is not supported by catalog")
_NO_VIEWS_FIX = (
    "\nAn Iceberg catalog of this type, such as hadoop, does not support views: materialize the model as a table. "
    "For `dbt clone`,\nset `+clone_as: table`."
)

_UNRESOLVED = re.compile(
    r"UNRESOLVED_COLUMN\S* .*? `(?P<relation>[^`]+)`\.`(?P<column>[^`]+)` cannot be resolved(?P<meant>.*)", re.DOTALL
)
_OF_A_SNAPSHOT = re.compile(r"`(snapshot_id_\d+|branch_main|changes)`", re.IGNORECASE)
_NO_ALIAS_FIX = (
    "\nA relation that an ip_ macro returns does not have the table's name. If `{relation}` refers to one, "
    "add an alias:\nfrom {{{{ ip_changes(…) }}}} as {relation}"
)


_TARGET = "DBT_INTERNAL_DEST"
_TARGET_FIX = errors.message(
    "",
    fix="in incremental_predicates, write DBT_INTERNAL_DEST for the model's table, and DBT_INTERNAL_SOURCE for the new "
    "rows.",
)


def _no_alias(message: str) -> str:
    """The fix for a column that is qualified with a table that an ``ip_`` macro has replaced. Empty otherwise."""
    found = _UNRESOLVED.search(message)
    if found and _TARGET in found["meant"]:
        return _TARGET_FIX
    if not found or not (_OF_A_SNAPSHOT.search(found["meant"]) or f"`{found['column']}`" in found["meant"]):
        return ""
    return _NO_ALIAS_FIX.format(relation=found["relation"])


def clean(text: str) -> str:
    """A Spark message without Java stack traces and query plans, with a fix if one is known."""
    return _with_fix(_shortened(text))


def _shortened(text: str) -> str:
    lines: list[str] = []
    previous = ""
    for line in _SERVER_PREFIX.sub("", text.strip()).splitlines():
        if _STACK.match(line):
            if lines:
                break
            continue
        if _PLAN_AFTER.search(previous) and _PLAN.match(line):
            break
        lines.append(line.rstrip())
        previous = line
    if lines:
        lines[-1] = lines[-1].rstrip(";").rstrip()
    return mask(_RAISED.sub(r"\1", "\n".join(lines[:_MAX_LINES])).strip())


def _with_fix(message: str) -> str:
    no_alias = _no_alias(message)
    fixes = (
        (_NO_CLASS_FIX, _NO_CLASS in message),
        (_PARTITIONING_FIX, _PARTITIONING.search(message)),
        (_NOT_HELD_FIX, _NOT_HELD.search(message)),
        (_NO_VIEWS_FIX, _NO_VIEWS.search(message)),
        (no_alias, no_alias),
    )
    for fix, applies in fixes:
        if applies and fix not in message:
            message += fix
    return with_fix(message)


def describe(error: BaseException) -> str:
    """The message of an exception of PySpark, Py4J, PyHive or ODBC, with the root cause if it adds information."""
    return _with_fix(_described(error))


def _described(error: BaseException) -> str:
    code = getattr(error, "getGrpcStatusCode", None)
    if explained := connect_errors.explained("" if code is None else code().name, str(error)):
        return mask(explained)
    if code is not None:
        return _of_a_server(error)
    java = getattr(error, "java_exception", None)
    if java is not None:
        return _java(java)
    origin = getattr(error, "_origin", None)
    message = _shortened(str(error))
    if origin is not None:
        return _with_root(message, _root(origin)) or _class(origin)
    status = getattr(error.args[0], "status", None) if error.args else None
    if status is not None and getattr(status, "errorMessage", None):
        return _shortened(str(status.errorMessage))
    return message or type(error).__name__


def _of_a_server(error: Any) -> str:
    """The message of an error from a Spark Connect server, with the root cause from its stack trace."""
    text, _, _ = str(error).partition(_TRACE_FOLLOWS)
    found = _OF_CLASS.match(text)
    message = _shortened(text[found.end() :]) if found else _shortened(text)
    if found and not message.startswith("["):
        message = f"{found[1]}: {message}"
    *_, root = [("", ""), *_CAUSED_BY.findall(error.getStackTrace() or "")]
    return _with_cause(message, *root)


def _java(throwable: Any) -> str:
    message = f"{_class(throwable)}: {_shortened(str(throwable.getMessage() or ''))}"
    return _with_root(message, _root(throwable))


def _with_root(message: str, root: Any) -> str:
    return message if root is None else _with_cause(message, _class(root), str(root.getMessage() or ""))


def _with_cause(message: str, name: str, text: str) -> str:
    """A message, followed by its cause if the cause adds information."""
    cause = _shortened(text)
    return f"{message}\nCaused by: {name}: {cause}" if cause and cause not in message else message


def _class(throwable: Any) -> str:
    return str(throwable.getClass().getSimpleName())


def _root(throwable: Any) -> Any:
    """The last cause in the chain, or None."""
    cause = throwable.getCause()
    root = None
    for _ in range(20):
        if cause is None:
            break
        root, cause = cause, cause.getCause()
    return root
