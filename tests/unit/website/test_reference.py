"""The reference is up to date, and contains each macro, each config and each profile field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import pytest

from dbt.adapters.spark_iceberg.hooks.macros import ARGUMENTS
from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials
from dbt.adapters.spark_iceberg.project.model_config import policy_of
from iceberg_incremental.plan.configs import ModelConfigs, NodeConfigs
from website import DOCS, GENERATED
from website.profile_fields import FIELDS, OF_DBT_SPARK

CONFIGS = {**ModelConfigs.table(), **NodeConfigs.table()}
REFERENCE = GENERATED[DOCS / "reference.md"]()


class Read(Mapping[str, Any]):
    """An empty config that records which names were read."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.names.add(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


@pytest.mark.parametrize("file", GENERATED, ids=lambda file: file.name)
def test_generated_files_are_up_to_date(file):
    assert file.read_text(encoding="utf-8") == GENERATED[file](), "run `make reference`"


@pytest.mark.parametrize("macro", [*ARGUMENTS, "is_incremental"])
def test_the_reference_lists_each_macro_with_its_arguments(macro):
    section = re.search(rf"^### {macro}$(.*?)(?=^##)", REFERENCE, re.MULTILINE | re.DOTALL)
    assert section, f"{macro} is missing"
    arguments, described = ARGUMENTS.get(macro, ()), re.findall(r"^\| `(\w+)` \|", section[1], re.MULTILINE)
    assert described == [each for each in arguments if each in described or each not in {"format", "model", "select"}]
    signature = re.search(r"```text\n(.*?)```", section[1], re.DOTALL)
    assert signature and re.findall(r"(\w+)(?:=[^,)]+)?(?=,|\s*\))", signature[1]) == list(arguments)


@pytest.mark.parametrize("name", [*CONFIGS, *FIELDS])
def test_the_reference_lists_each_config_and_profile_field(name):
    assert f"\n| `{name}` | " in REFERENCE


def test_each_config_that_the_package_reads_is_described():
    config = Read()
    policy_of(config, "model.shop.daily")
    assert config.names - {"predicates"} <= {*CONFIGS}  # predicates is the old name of incremental_predicates


def test_each_profile_field_is_described():
    aliases = {field: alias for alias, field in SparkIcebergCredentials._ALIASES.items()}
    known = {aliases.get(field.name, field.name) for field in fields(SparkIcebergCredentials)}
    ours = {name for name in SparkIcebergCredentials.__annotations__ if not name.startswith("_")}
    assert ours <= {*FIELDS} <= known and {*OF_DBT_SPARK} <= known
    assert not {*FIELDS} & {*OF_DBT_SPARK}
