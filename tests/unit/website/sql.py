"""The SQL of the pages, as a dbt project and as rendered text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined

from .blocks import Block, blocks
from .settings import PROPERTIES

_PART = re.compile(r"^-- (?:before|after|right)\b.*\n", re.MULTILINE)
_CONFIG = re.compile(r"\s*{{ config\((?:(?!}}).)*}}\s*", re.DOTALL)
_READ = re.compile(r"""(?:source\(['"](?P<source>\w+)['"], |ref\()['"](?P<name>\w+)['"]\)""")
_SNAPSHOT = re.compile(r"{% snapshot (\w+) %}")
_MACROS = ("ip_changes", "ip_changelog", "ip_signed_changes", "ip_changed_groups", "ip_as_of", "ip_history_as_of")


@dataclass(frozen=True)
class Part:
    """A statement of a block, which may show several: a model, a snapshot, a macro, or plain SQL."""

    block: Block
    number: int
    text: str

    @property
    def name(self) -> str:
        """A name for dbt that contains the page and the line."""
        stem = re.sub(r"\W", "_", self.block.page.removesuffix(".md").lower())
        return f"{stem}_{self.block.line}_{self.number}"

    @property
    def folder(self) -> str | None:
        """The statement's folder in a dbt project, or None for plain SQL."""
        if "{% macro" in self.text:
            return "macros"
        if "{% snapshot" in self.text:
            return "snapshots"
        return "models" if "{{" in self.text else None

    @property
    def query(self) -> str:
        """The text, with a query added if the page shows only a config."""
        if _CONFIG.fullmatch(self.text):
            return f"{self.text}select 1 as event_id, current_date() as event_date"
        return self.text


def parts() -> list[Part]:
    """The statements of all pages, except files of the demo, which other tests compare with the files."""
    return [
        Part(block, number, text)
        for block in blocks("sql")
        if not block.text.startswith("-- integration_tests/")
        for number, text in enumerate(each for each in _PART.split(block.text) if each.strip())
    ]


def rendered(part: Part) -> Iterator[str]:
    """Render a part without Spark, as in a first run, and as in a later run if that SQL differs."""
    return iter(dict.fromkeys(_rendered(part, is_later) for is_later in (False, True)))


def _rendered(part: Part, is_later: bool) -> str:
    def read(relation: str, *_: Any, **__: Any) -> str:
        return relation

    names = {
        **dict.fromkeys(_MACROS, read),
        "ip_range": lambda *_: SimpleNamespace(min="date '2026-01-01'", max="date '2026-01-02'"),
        "config": lambda **_: "",
        "is_incremental": lambda: is_later,
        "ref": lambda name: name,
        "source": lambda *names: ".".join(names),
        "this": "analytics.known",
        "var": lambda name, default="1": default,
    }
    query = re.sub(r"{% (?:snapshot \w+|endsnapshot) %}", "", part.query)
    return Environment(undefined=StrictUndefined, autoescape=False).from_string(query).render(names)


def write_project(folder: Path) -> None:
    """Write a dbt project with the models, snapshots, macros and properties of all pages."""
    project: dict[str, Any] = {"name": "pages", "profile": "pages", "version": "1.0"}
    output = {"type": "spark_iceberg", "method": "session", "warehouse": "lakehouse", "schema": "analytics"}
    files = {f"{part.folder}/{part.name}.sql": part.query for part in parts() if part.folder is not None}
    python = [block for block in blocks("python") if block.text.startswith("def model(")]
    files |= {f"models/python_{number}.py": block.text for number, block in enumerate(python)}
    described: set[str] = set()
    for block in blocks("yaml"):
        properties = yaml.safe_load(block.text.replace("…}", "}"))
        if "dispatch" in properties:
            project |= properties
        elif "write_integrations" in str(properties):  # dbt before 1.12 cannot read the second format
            files["catalogs.yml"] = block.text
        elif PROPERTIES & properties.keys():
            described |= {each["name"] for each in properties.get("models", ())}
            for each in (each for key in ("sources", "snapshots") for each in properties.get(key, ())):
                each["name"] = f"{each['name']}_{block.line}"  # other pages use the same names
            files[f"models/{block.page}_{block.line}.yml"] = yaml.safe_dump(properties)
    files |= _read_relations("\n".join(files.values()), described)
    files["dbt_project.yml"] = yaml.safe_dump(project)
    files["profiles.yml"] = yaml.safe_dump({"pages": {"target": "dev", "outputs": {"dev": output}}})
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _read_relations(text: str, models: Collection[str]) -> Mapping[str, str]:
    """Files that define the models and sources that a text reads, and the given ``models``."""
    read = [(found["source"], found["name"]) for found in _READ.finditer(text)]
    tables = {source: sorted({name for of, name in read if of == source}) for source, _ in read if source}
    sources = [{"name": source, "tables": [{"name": name} for name in names]} for source, names in tables.items()]
    names = {*models, *(name for source, name in read if not source)} - {*_SNAPSHOT.findall(text)}
    return {
        **{f"models/read/{name}.sql": "{{ config(event_time='at') }} select now() as at" for name in names},
        "models/read/sources.yml": yaml.safe_dump({"sources": sources}),
    }
