"""The command ``iceberg-incremental``: JSON on stdout, messages on stderr, and exit codes for scripts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import ConcurrentRunError, IncrementalError
from ..explain import command_errors, wording
from ..explain.caller import Caller, called_by
from . import documents
from .arguments import catalog_properties, parsed, request_of
from .capturing import capture, status
from .job_catalogs import JobCatalogs
from .publishing import abort, commit
from .run_file import CapturedRun, read_run

DONE, ERROR, NOTHING, OVERTAKEN = 0, 1, 3, 4
"""The exit codes. argparse exits with 2 for invalid arguments."""

_NOTHING = "nothing"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns its exit code. Raises SystemExit for invalid arguments, as argparse does."""
    given = parsed(arguments)
    try:
        with called_by(Caller.COMMAND):
            document = _COMMANDS[given.command](JobCatalogs(catalog_properties(given)), given)
    except ConcurrentRunError as error:
        return _failed(error, OVERTAKEN)
    except IncrementalError as error:
        return _failed(error, ERROR)
    sys.stdout.write(json.dumps(document, indent=2) + "\n")
    errors = [source["error"] for source in document.get("sources", ()) if source.get("error")]
    if errors:
        _say("\n".join(errors))
        return ERROR
    return NOTHING if document["action"] == _NOTHING else DONE


def cli() -> None:
    """The entry point of the console script."""
    sys.exit(main())


def _capture(catalogs: JobCatalogs, given: argparse.Namespace) -> dict[str, Any]:
    request = request_of(given)
    run, plan, cuts = capture(catalogs, request)
    _say(wording.captured(plan.captured.values(), {}))
    before = () if run.captured_from is None else run.captured_from.sources
    dropped = [] if run.checkpoint is None else [each for each in before if each not in run.checkpoint.sources]
    if dropped:
        _say(wording.left_out(run.name, dropped))
    return documents.of_capture(catalogs, request, run, plan, cuts)


def _commit(catalogs: JobCatalogs, given: argparse.Namespace) -> dict[str, Any]:
    run = _run(given)
    return documents.of_commit(run, commit(catalogs, run, no_rows=given.no_rows))


def _abort(catalogs: JobCatalogs, given: argparse.Namespace) -> dict[str, Any]:
    run = _run(given)
    return documents.of_abort(run, dropped=abort(catalogs, run))


def _status(catalogs: JobCatalogs, given: argparse.Namespace) -> dict[str, Any]:
    return documents.of_status(status(catalogs, request_of(given)))


_COMMANDS = {"capture": _capture, "commit": _commit, "abort": _abort, "status": _status}


def _run(given: argparse.Namespace) -> CapturedRun:
    """The captured run in the input. Raises ConfigError if there is none."""
    if given.run == "-":
        return read_run(sys.stdin.read(), "stdin")
    try:
        text = Path(given.run).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise command_errors.unreadable_run(given.run, str(error)) from error
    return read_run(text, given.run)


def _failed(error: IncrementalError, code: int) -> int:
    _say(str(error))
    return code


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
