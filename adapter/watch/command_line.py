"""The command ``dbt-spark-iceberg``."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource
from dbt.cli import params
from dbt_common.exceptions import DbtBaseException

from iceberg_incremental.durations import EXAMPLES, duration
from iceberg_incremental.errors import IncrementalError
from iceberg_incremental.quantities import counted

from ..__version__ import version
from ..as_dbt import dbt_error, of_dbt
from ..profile.credentials import Method, SparkIcebergCredentials
from .due import Backoff, Batching
from .metrics import LOOPBACK
from .project import DbtOptions, Project

if TYPE_CHECKING:
    from .profile_tables import ProfileTables
    from .version import Version
    from .watched import Watched

_Command = TypeVar("_Command", bound=Callable[..., Any])

_DBT_OPTIONS = (
    params.select,
    params.exclude,
    params.selector,
    params.project_dir,
    params.profiles_dir,
    params.profile,
    params.target,
    params.vars,
    params.target_path,
    params.log_path,
)
_SELECTING = ("select", "exclude", "selector")
_ERROR = 1


class Seconds(click.ParamType):  # type: ignore[type-arg]
    """A duration, or a number of seconds. 0 is valid if ``may_be_zero``."""

    name = "duration"

    def __init__(self, *, may_be_zero: bool = False) -> None:
        self._may_be_zero = may_be_zero

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Convert a value to seconds. Raises click.BadParameter for an invalid one."""
        text = str(value).strip()
        found = duration(f"{text}s" if re.fullmatch(r"\d+(\.\d+)?", text) else text)
        if found is None or not (found or self._may_be_zero):
            above = "" if self._may_be_zero else " above 0"
            self.fail(f"{text!r}: expected a duration{above}, {EXAMPLES}, or a number of seconds.", param, ctx)
        return found.total_seconds()


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version, message="%(version)s")
def cli() -> None:
    """Build dbt models on Spark and Iceberg after each commit to their sources, and explain errors."""


def dbt_options(command: _Command) -> _Command:
    """Add dbt's own options."""
    for option in reversed(_DBT_OPTIONS):
        command = option(command)
    return command


@cli.command()
@dbt_options
@click.option("--output", type=click.Choice(["text", "json"]), default="text", help="The output format.")
def pending(output: str, **given: Any) -> None:
    """Check the sources once, and print the nodes to build, in the syntax of --select.

    Reads only metadata. Exits with 0 if a model is due and with 99 if no model is due. Exits with 1 if the check
    failed, or if no model is due and the next run of a model would fail. Prints errors to stderr.
    """
    from . import pending as look_once
    from .outdated import outdated_tables

    with _errors_shown():
        project = Project.load(_options(given))
        watched, lake = _watched(project)
        watched.look()
        behind = project.dag.reach(watched.statuses.keys()).nodes - watched.statuses.keys()
        outdated = outdated_tables(project.tables, behind, lake.reader)
    found = look_once.pending(project, project.dag, watched.statuses, outdated)
    for complaint in look_once.complaints(found):
        click.echo(complaint, err=True)
    click.echo(look_once.as_json(found) if output == "json" else look_once.as_text(found))
    sys.exit(found.exit_code)


@cli.command()
@dbt_options
@params.threads
@params.log_format
@click.option("--interval", type=Seconds(), default="2s", show_default=True, help="How often to check the sources.")
@click.option(
    "--debounce",
    type=Seconds(may_be_zero=True),
    default="0s",
    show_default=True,
    help="Wait until a model's sources have had no commits for this long.",
)
@click.option(
    "--max-batch", type=click.IntRange(min=1), help="With --debounce: stop waiting once this many commits are pending."
)
@click.option("--max-wait", type=Seconds(), default="1m", show_default=True, help="With --debounce: the longest wait.")
@click.option(
    "--retry-after",
    type=Seconds(),
    default="5s",
    show_default=True,
    help="The delay before the first retry of a failed node. It doubles with each retry.",
)
@click.option(
    "--retry-at-most", type=Seconds(), default="5m", show_default=True, help="The longest delay before a retry."
)
@click.option(
    "--metrics-file", type=click.Path(dir_okay=False, path_type=Path), help="Write Prometheus metrics to this file."
)
@click.option("--metrics-port", type=click.IntRange(1, 65535), help="Serve Prometheus metrics on this port.")
@click.option(
    "--metrics-address",
    default=LOOPBACK,
    show_default=True,
    help="Serve Prometheus metrics on this address. 0.0.0.0 means all addresses.",
)
@click.option(
    "--status-page",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep the status page up to date in this file.",
)
@click.option(
    "--use-colors/--no-use-colors",
    default=None,
    callback=lambda context, option, value: _colors(value),
    help="Whether dbt uses colors. By default, DBT_USE_COLORS, NO_COLOR or dbt_project.yml decides.",
)
@click.option("--maintain-every", type=Seconds(), help="Run ip_maintain at this interval while no model is due.")
def watch(**given: Any) -> None:
    """Check the sources every few seconds, and run dbt build for models whose sources have new commits.

    Runs until SIGTERM or Ctrl-C. It then cancels the statements of a running build and exits with 0.
    """
    from ..spark.in_process import session
    from .log import Log
    from .loop import Loop, Settings
    from .metrics import Metrics
    from .signals import Stop
    from .version import Versions

    session.runs_on = True
    if given["retry_at_most"] < given["retry_after"]:
        raise click.UsageError(
            "--retry-at-most is shorter than --retry-after. Expected: at least the time of --retry-after."
        )
    if given["metrics_address"] != LOOPBACK and given["metrics_port"] is None:
        raise click.UsageError("--metrics-address needs --metrics-port.")
    if not given["debounce"]:
        source = click.get_current_context().get_parameter_source("max_wait")
        useless = ["--max-wait"] if source is ParameterSource.COMMANDLINE else []
        useless += [] if given["max_batch"] is None else ["--max-batch"]
        if useless:
            raise click.UsageError(f"{' and '.join(useless)} without --debounce has no effect: set --debounce.")
    batching = Batching(given["debounce"], given["max_batch"], given["max_wait"])
    settings = Settings(given["interval"], batching, Backoff(given["retry_after"], given["retry_at_most"]))
    file, port, stop = given["metrics_file"], given["metrics_port"], Stop()
    log = Log(as_json=given["log_format"] == "json")
    with stop.listening(), _errors_shown():
        metrics = None if file is None and port is None else Metrics(file, port, given["metrics_address"])
        load = partial(_version, _options(given), given["status_page"], given["maintain_every"])
        first = load()
        models = sorted(first.watched.models)
        log.event("Watching", f"watching {counted(len(models), 'model')}", models=models)
        versions = Versions(first, load, settings.backoff)
        Loop(versions, settings, stop, log, metrics).run()
        versions.current.close()
        log.event("Stopped", "stopped")


@cli.command()
@params.project_dir
@click.option("--profiles-dir", help="The folder of profiles.yml, as for dbt.")
@params.profile
@params.target
def warm_up(**given: Any) -> None:
    """Make the class data archive with which Spark starts in half the time, for `method: session`.

    Without this command, a background process makes it after the first run. Uses the jars of the profile, or those of
    the embedded lakehouse if the current folder is no dbt project.
    """
    from iceberg_incremental.jvm.training import CannotMakeError
    from iceberg_incremental.jvm.training import warm_up as make

    from ..spark.in_process.session import wanted_confs

    with _errors_shown():
        try:
            credentials = session_credentials(given)
            archive = make(wanted_confs(credentials))
        except CannotMakeError as error:
            raise click.ClickException(f"The class data archive was not made: {error}") from error
    click.echo(f"Spark starts from {archive.file}")


@cli.command()
@click.argument("error", required=False)
def explain(error: str | None) -> None:
    """Explain an error and how to fix it. ERROR is the name in the last line of the message.

    Without ERROR, lists all names. Works offline and outside of a project.
    """
    from iceberg_incremental.explain import index

    entries = index.entries()
    if error is None:
        click.echo("\n".join(sorted(entries)))
    elif text := entries.get(index.name_in(error)):
        click.echo(text)
    else:
        click.echo(index.unknown(error, sorted(entries)), err=True)
        sys.exit(_ERROR)


def _version(options: DbtOptions, page: Path | None, maintain_every: float | None) -> Version:
    """The project, loaded from its current files. Raises ConfigError and the errors of dbt."""
    from .build import build
    from .page import Page
    from .periodic_tasks import maintenance
    from .version import Version, parsed_stamps

    began = time.time()
    project = Project.load(options)
    stamps = project.files().stamps
    parsed = parsed_stamps(stamps, began)
    watched, lake = _watched(project)

    return Version(
        watched,
        project.dag,
        partial(build, project),
        [] if maintain_every is None else [maintenance(project, maintain_every, began)],
        None if page is None else Page(project, lake, watched, page),
        project.definitions(parsed),
        stamps,
        parsed,
        watched.close,
    )


def _watched(project: Project) -> tuple[Watched, ProfileTables]:
    from .profile_tables import ProfileTables
    from .watched import Watched

    lake = ProfileTables(project.config, project.catalogs)
    return Watched(project, lake), lake


@contextmanager
def _errors_shown() -> Iterator[None]:
    """Print the errors of dbt and this package, and exit with 1."""
    try:
        yield
    except (DbtBaseException, IncrementalError, click.ClickException) as error:
        shown = of_dbt(error) if isinstance(error, IncrementalError) else error
        click.echo(str(shown), err=True)
        sys.exit(_ERROR)


def _options(given: dict[str, Any]) -> DbtOptions:
    """The options for dbt's commands."""

    def flags(*names: str) -> tuple[str, ...]:
        found: list[str] = []
        for name in names:
            value = given.get(name)
            if value:
                words = value if isinstance(value, tuple) else (_text(value),)
                found += (f"--{name.replace('_', '-')}", *words)
        return tuple(found)

    common = ("project_dir", "profiles_dir", "profile", "target", "vars", "target_path", "log_path", "log_format")
    colors = given.get("use_colors")
    colored = () if colors is None else ("--use-colors" if colors else "--no-use-colors",)
    return DbtOptions((*flags(*common), *colored), flags(*_SELECTING), flags("threads"))


def _colors(given: bool | None) -> bool | None:
    """Whether dbt uses colors, or None to let dbt decide. dbt itself does not read NO_COLOR."""
    decided = given is not None or any(os.environ.get(name) for name in ("DBT_USE_COLORS", "DBT_ENGINE_USE_COLORS"))
    return False if not decided and os.environ.get("NO_COLOR") else given


def _text(value: object) -> str:
    return json.dumps(value) if isinstance(value, dict) else str(value)


def session_credentials(given: Mapping[str, Any]) -> SparkIcebergCredentials:
    """The profile with which ``method: session`` starts Spark. ``given``: dbt's options.

    Outside of a dbt project, this is the profile of an embedded lakehouse. Raises DbtRuntimeError for a profile that
    cannot be used, or with another method.
    """
    folder = Path(given["project_dir"])
    if not (folder / "dbt_project.yml").exists():
        return SparkIcebergCredentials(warehouse=".", schema="default")
    from dbt.cli.resolvers import default_profiles_dir
    from dbt.config.runtime import load_profile
    from dbt.flags import set_from_args

    options = {**given, "profiles_dir": given["profiles_dir"] or default_profiles_dir()}
    set_from_args(Namespace(**options), None)
    found = load_profile(str(folder), {}, given["profile"], given["target"]).credentials
    if not isinstance(found, SparkIcebergCredentials) or found.method != Method.SESSION:
        method = getattr(found, "method", found.type)
        raise dbt_error(
            "Spark runs outside of dbt's process, so there is nothing to warm up.",
            expected="a target with `method: session`.",
            found=f"{method}.",
            fix="choose another target with --target, or run this command outside of the dbt project.",
        )
    return found
