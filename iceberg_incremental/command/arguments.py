"""The arguments of the command, and what they ask for."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..job import options
from ..plan.policy import Cause, OnBreak, OnRewrite, Strategy
from .capturing import Request

_CATALOG_PROPERTY = "NAME.KEY=VALUE"
_ON_BREAK = "[CAUSE=]ACTION"
_READS = {
    "source": "changes",
    "changelog": "changelog",
    "changelog_per_commit": "changelog_per_commit",
    "as_of": "as_of",
}


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The arguments of a call, those of the process by default. Raises SystemExit for what is not understood."""
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
        help="a property of a catalog as PyIceberg takes it, next to those of .pyiceberg.yaml and of the environment",
    )
    common.add_argument("--format", choices=["json"], default="json", help="what to print to stdout")
    found = argparse.ArgumentParser(
        prog="iceberg-incremental",
        description="Incremental jobs on Iceberg tables in any language: capture what is new in the sources, write it "
        "to a branch, and publish rows and position in one commit.",
        epilog="Exit codes: 0 done, 1 error, 2 wrong arguments, 3 nothing new, 4 another run or writer came first.",
    )
    commands = found.add_subparsers(dest="command", required=True)
    capture = commands.add_parser("capture", parents=[common], help="capture a run, and begin its staging branch")
    _add_request(capture)
    capture.add_argument("--full-refresh", action="store_true", help="replace all rows of the target")
    capture.add_argument(
        "--on-schema-change",
        choices=["fail", "ignore"],
        default="fail",
        help="whether the columns of the target may change between capture and commit (default: fail)",
    )
    commit = commands.add_parser("commit", parents=[common], help="publish the branch and the position in one commit")
    _add_run(commit)
    commit.add_argument("--no-rows", action="store_true", help="the captured rows result in no rows to write")
    _add_run(commands.add_parser("abort", parents=[common], help="drop the staging branch"))
    status = commands.add_parser("status", parents=[common], help="what the next run would capture, by metadata alone")
    _add_request(status)
    status.set_defaults(full_refresh=False, on_schema_change="fail")
    return found


def catalog_properties(given: argparse.Namespace) -> Mapping[str, Mapping[str, str]]:
    """The properties of catalogs among the arguments."""
    found: dict[str, dict[str, str]] = {}
    for catalog, key, value in given.catalog_property:
        found.setdefault(catalog, {})[key] = value
    return found


def request_of(given: argparse.Namespace) -> Request:
    """The run that the arguments ask for. Raises ConfigError for a name that is no table's."""
    target = options.table("target", given.target)
    policy = options.policy(
        given.on_source_rewrite,
        dict(given.on_history_break),
        given.on_missing_checkpoint,
        given.max_snapshots_per_run,
        given.max_bytes_per_run,
        None,
    )
    if policy.nets_rewrites:
        policy = replace(policy, strategy=Strategy.MERGE)  # changed rows are given once, for a job that replaces them
    sources = tuple((options.table("source", name), read) for name, read in given.sources)
    keeps_columns = given.on_schema_change == "fail"
    return Request(target, given.name or f"job.{target}", policy, sources, given.full_refresh, keeps_columns)


def _add_run(command: argparse.ArgumentParser) -> None:
    command.add_argument("--run", required=True, metavar="FILE", help="what capture has printed; - for stdin")


def _add_request(command: argparse.ArgumentParser) -> None:
    command.add_argument("--target", required=True, metavar="TABLE", help="as catalog.namespace.table")
    command.add_argument("--name", help="who writes the target: job.<target> by default, or the id of a dbt model")
    command.set_defaults(sources=[])
    reads = {
        "--source": "a table whose new rows are read; repeat it for each",
        "--changelog": "a table whose changes are read, with _change_type, by Spark SQL",
        "--changelog-per-commit": "the same, of each commit, with its snapshot, time and order",
        "--as-of": "a table that is read as a whole, as of the moment of the run",
    }
    for option, text in reads.items():
        command.add_argument(option, action=_SourceOption, metavar="TABLE", help=text)
    command.add_argument("--on-source-rewrite", choices=[each.value for each in OnRewrite], default="fail")
    command.add_argument(
        "--on-history-break",
        action="extend",
        default=[],
        type=_on_break,
        metavar=_ON_BREAK,
        help=f"{' or '.join(each.value for each in OnBreak)}, for all causes or for one of "
        f"{', '.join(each.value for each in Cause)}; repeat it for each",
    )
    command.add_argument("--on-missing-checkpoint", choices=[each.value for each in OnBreak], default="fail")
    command.add_argument("--max-snapshots-per-run", type=_positive, metavar="N")
    command.add_argument("--max-bytes-per-run", type=_positive, metavar="N")


class _SourceOption(argparse.Action):
    """Collects the sources of all options in the order in which they were given."""

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
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, found {text!r}")
    return int(text)
