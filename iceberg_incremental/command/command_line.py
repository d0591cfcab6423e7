"""The command ``iceberg-incremental``: JSON on stdout, messages on stderr, and exit codes for scripts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ConcurrentRunError, IncrementalError
from ..explain import job_errors, wording
from ..explain.caller import Caller, called_by
from ..job import options
from ..plan.configs import ModelConfigs
from ..plan.policy import DEFAULT_ON_BREAK, Cause, OnBreak, Strategy
from . import documents
from .capturing import Request, capture, status
from .job_catalogs import JobCatalogs
from .publishing import abort, commit
from .run_file import CapturedRun, read_run

_CATALOG_PROPERTY = "NAME.KEY=VALUE"
_ON_BREAK = "[CAUSE=]ACTION"
_CONFIGS = {
    "on_source_rewrite": "what to do if commits changed or deleted rows of a source",
    "on_missing_checkpoint": "what to do if the target has rows but no checkpoint of this job",
    "max_snapshots_per_run": "read at most this many commits of each source",
    "max_bytes_per_run": "read at most this many bytes of each source",
}
"""The configs of models that are options, with their help."""
_READS = {
    "source": "changes",
    "changelog": "changelog",
    "changelog_per_commit": "changelog_per_commit",
    "as_of": "as_of",
}


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
        _say(
            f"The last run of {run.name} also read {', '.join(dropped)}, but this run does not. Its commit removes "
            "that position, so a later run that reads the source again must rebuild the table. To keep the position, "
            "abort and capture with all sources."
        )
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
        raise job_errors.unreadable_run(given.run, str(error)) from error
    return read_run(text, given.run)


def _failed(error: IncrementalError, code: int) -> int:
    _say(str(error))
    return code


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The parsed arguments, by default those of the process. Raises SystemExit for invalid arguments."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.command == "capture" and not given.sources:
        parser.error("capture needs at least one of --source, --changelog, --changelog-per-commit and --as-of")
    return given


def _parser() -> argparse.ArgumentParser:
    """The parser of all sub-commands."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--catalog-property",
        action="append",
        default=[],
        type=_catalog_property,
        metavar=_CATALOG_PROPERTY,
        help="set a PyIceberg property of a catalog, in addition to the properties in .pyiceberg.yaml and the "
        "environment; repeatable",
    )
    common.add_argument("--format", choices=["json"], default="json", help="the output format")
    found = argparse.ArgumentParser(
        prog="iceberg-incremental",
        description="Run incremental jobs on Iceberg tables in any language: capture the new rows of the sources, "
        "write the result to a branch, and publish the rows and the position in one commit.",
        epilog="Exit codes: 0 success, 1 error, 2 invalid arguments, 3 no changes, 4 conflict with another run or "
        "writer.",
    )
    commands = found.add_subparsers(dest="command", required=True)
    capture = commands.add_parser("capture", parents=[common], help="plan a run, and create its staging branch")
    _add_request(capture)
    capture.add_argument("--full-refresh", action="store_true", help="replace all rows of the target")
    capture.add_argument(
        "--on-schema-change",
        choices=["fail", "ignore"],
        default="fail",
        help="whether the columns of the target may change between capture and commit (default: fail)",
    )
    commit = commands.add_parser("commit", parents=[common], help="publish the rows and the position in one commit")
    _add_run(commit)
    commit.add_argument(
        "--no-rows", action="store_true", help="publish the position of a run that has no rows to write"
    )
    _add_run(commands.add_parser("abort", parents=[common], help="drop the staging branch of a run"))
    status = commands.add_parser(
        "status", parents=[common], help="print what the next run would capture, from metadata only"
    )
    _add_request(status)
    status.set_defaults(full_refresh=False, on_schema_change="fail")
    return found


def catalog_properties(given: argparse.Namespace) -> Mapping[str, Mapping[str, str]]:
    """The catalog properties in the arguments."""
    found: dict[str, dict[str, str]] = {}
    for catalog, key, value in given.catalog_property:
        found.setdefault(catalog, {})[key] = value
    return found


def request_of(given: argparse.Namespace) -> Request:
    """The run that the arguments request. Raises ConfigError for an invalid table name."""
    target = options.table("target", given.target)
    name = given.name or f"job.{target}"
    configs = {each: getattr(given, each) for each in _CONFIGS}
    policy = options.configs(name, on_history_break=dict(given.on_history_break), **configs).policy()
    if policy.nets_rewrites:
        policy = replace(policy, strategy=Strategy.MERGE)  # returns each changed row once, because jobs replace rows
    sources = tuple((options.table("source", name), read) for name, read in given.sources)
    keeps_columns = given.on_schema_change == "fail"
    return Request(target, name, policy, sources, given.full_refresh, keeps_columns)


def _add_run(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--run", required=True, metavar="FILE", help="the output of capture, or - to read it from stdin"
    )


def _add_request(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--target", required=True, metavar="TABLE", help="the target table, as catalog.namespace.table"
    )
    command.add_argument("--name", help="the name of the job, or the id of a dbt model (default: job.<target>)")
    command.set_defaults(sources=[])
    reads = {
        "--source": "read the new rows of this table; repeatable",
        "--changelog": "read the changes of this table with Spark SQL, including _change_type; repeatable",
        "--changelog-per-commit": "read the changes of each commit to this table, including its snapshot; repeatable",
        "--as-of": "read this table as a whole, at its current snapshot; repeatable",
    }
    for option, text in reads.items():
        command.add_argument(option, action=_SourceOption, metavar="TABLE", help=text)
    for name, text in _CONFIGS.items():
        option, choices = f"--{name.replace('_', '-')}", ModelConfigs.table()[name].kind.choices
        if choices:
            command.add_argument(option, choices=choices, help=f"{text} (default: {choices[0]})")
        else:
            command.add_argument(option, type=_positive, metavar="N", help=text)
    command.add_argument(
        "--on-history-break",
        action="extend",
        default=[],
        type=_on_break,
        metavar=_ON_BREAK,
        help="what to do if the history of a source is broken: "
        f"{' or '.join(each.value for each in OnBreak)}, for all causes or for one of the causes "
        f"{', '.join(each.value for each in Cause)}; repeatable (default: "
        f"{', '.join(f'{cause.value}={action.value}' for cause, action in DEFAULT_ON_BREAK.items())})",
    )


class _SourceOption(argparse.Action):
    """Collects the sources of all options, in the order of the command line."""

    def __call__(
        self, parser: argparse.ArgumentParser, given: argparse.Namespace, value: object, option: str | None = None
    ) -> None:
        given.sources = [*given.sources, (value, _READS[self.dest])]


def _catalog_property(text: str) -> tuple[str, str, str]:
    name, _, value = text.partition("=")
    catalog, _, key = name.partition(".")
    if not catalog or not key or "=" not in text:
        raise argparse.ArgumentTypeError(f"expected {_CATALOG_PROPERTY}, found {text!r}")
    return catalog, key, value


def _on_break(text: str) -> list[tuple[str, str]]:
    cause, _, action = text.rpartition("=")
    causes = [cause] if cause else [each.value for each in Cause]
    if action not in {each.value for each in OnBreak} or not set(causes) <= {each.value for each in Cause}:
        raise argparse.ArgumentTypeError(f"expected {_ON_BREAK}, found {text!r}")
    return [(each, action) for each in causes]


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected an integer above 0, found {text!r}")
    return int(text)
