"""Checks the YAML blocks of pages: profiles, catalogs, workflows and server configurations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextvars import copy_context
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import yaml
from dbt.adapters.catalogs import CatalogWriteIntegrationConfig
from dbt.adapters.spark.connections import SparkCredentials
from dbt.config.renderer import ProfileRenderer, SecretRenderer
from dbt_common.context import set_invocation_context

from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.relations.catalogs import IcebergCatalog, translated

from .shell import commands
from .shell import read as read_command

PROPERTIES = {"sources", "models", "snapshots", "dispatch"}
"""The top-level keys of property files, which dbt reads when it parses a project."""
_COLUMN_HEADS = re.compile(r"^# before +(?P<after># after)$", re.MULTILINE)
_CREDENTIALS: dict[str, type[SparkCredentials]] = {
    "spark": SparkCredentials,
    "spark_iceberg": SparkIcebergCredentials,
}
_LAKEHOUSE = {"type": "spark_iceberg", "method": "session", "catalog": "lake", "schema": "analytics"}


def side_by_side(text: str) -> Iterator[str]:
    """Split a block with the columns `# before` and `# after` into two texts. Other blocks yield nothing."""
    if heads := _COLUMN_HEADS.search(text):
        column = heads.start("after") - heads.start()
        yield "\n".join(line[:column].rstrip() for line in text.splitlines())
        yield "\n".join(line[column:] for line in text.splitlines())


def read(text: str) -> None:
    """Check a block according to its keys. Raises KeyError for keys that no test can check."""
    copy_context().run(_read, text)


def _read(text: str) -> None:
    set_invocation_context(dict.fromkeys(re.findall(r"env_var\('(\w+)'\)", text), "a value"))
    settings = yaml.safe_load(text.replace("…}", "warehouse: lakehouse}"))  # pages may abbreviate a profile
    keys = settings.keys()
    outputs = [each for each in settings.values() if isinstance(each, dict)] if len(keys) == 1 else []
    if outputs and "outputs" in outputs[0]:
        outputs = [*outputs[0]["outputs"].values()]
    if outputs and all("type" in each for each in outputs):
        for output in outputs:
            profile(output)
    elif all(key.startswith("spark.") for key in keys):
        profile({**_LAKEHOUSE, "server_side_parameters": settings})
    else:
        for key in _READERS.keys() & keys or [", ".join(keys)]:
            _READERS[key](settings)


def profile(output: Mapping[str, Any]) -> None:
    """Check an output of a profile with the code of dbt and the adapter."""
    rendered = {key: value for key, value in ProfileRenderer({}).render_data(dict(output)).items() if key != "threads"}
    kind = rendered.pop("type")
    if kind == "databricks":
        return  # this adapter is not installed
    credentials = _CREDENTIALS[kind]
    data = credentials.translate_aliases(rendered)
    assert data.keys() <= {each.name for each in fields(credentials)}
    credentials.validate(data)
    credentials.from_dict(data)


def _catalogs(settings: Mapping[str, Any]) -> None:
    for listed in settings["catalogs"]:
        catalog = SecretRenderer({}).render_data(listed)
        integrations = catalog.get("write_integrations")
        if integrations is None:  # the second format of catalogs.yml, which dbt 1.12 can read
            IcebergCatalog(translated(SimpleNamespace(**catalog), "spark_iceberg"))
        else:
            assert catalog["active_write_integration"] in [each["name"] for each in integrations]
            for each in integrations:
                IcebergCatalog(CatalogWriteIntegrationConfig(**each, catalog_name=catalog["name"]))


def _workflow(settings: Mapping[str, Any]) -> None:
    runs = [step["run"] for job in settings["jobs"].values() for step in job["steps"] if "run" in step]
    assert runs
    for command in (command for run in runs for command in commands(run)):
        read_command(command)


def _application(settings: Mapping[str, Any]) -> None:
    """Check a SparkApplication of the Kubernetes operator."""
    spec = settings["spec"]
    confs = [word for each in spec["sparkConf"].items() for word in ("--conf", "=".join(each))]
    read_command(["spark-submit", "--class", spec["mainClass"], *confs])


_READERS = {
    "pyiceberg": lambda settings: profile({**_LAKEHOUSE, **settings}),
    "catalogs": _catalogs,
    "jobs": _workflow,
    "kind": _application,
    **dict.fromkeys(PROPERTIES, lambda _: None),  # checked in the project that sql.py writes
}
