"""The questions of `dbt init` and the profile that it writes."""

from __future__ import annotations

from importlib.resources import files
from typing import Any
from unittest.mock import patch

import pytest
import yaml
from dbt.task.init import InitTask

from dbt.adapters.spark_iceberg.profile.credentials import SparkIcebergCredentials

TEMPLATE = yaml.safe_load(files("dbt.include.spark_iceberg").joinpath("profile_template.yml").read_text("utf-8"))
CHOICES = list(TEMPLATE["prompts"]["_choose_connection"])
LAKEHOUSE = TEMPLATE["prompts"]["_choose_connection"][CHOICES[0]]
ANSWERS = {"host": "spark.example.com", "user": "me", "catalog": "lake", "schema": "analytics"}


class Asking(InitTask):
    """dbt's init task, reduced to its questions."""

    def __init__(self) -> None:
        pass


def written(choice: str) -> dict[str, Any]:
    """The target that is written for a choice if the user accepts all defaults."""

    def answer(text: str, default: Any = None, **_: Any) -> Any:
        if "Desired connection" in text:
            return CHOICES.index(choice) + 1
        return ANSWERS[text.partition(" ")[0]] if default is None else default

    fixed = {f"_fixed_{key}": value for key, value in TEMPLATE["fixed"].items()}
    with patch("click.prompt", answer):
        return Asking().generate_target_from_input({**fixed, **TEMPLATE["prompts"]}, {})


@pytest.mark.parametrize("choice", CHOICES)
def test_each_choice_writes_a_valid_profile(choice):
    target = written(choice)
    assert target.pop("type") == "spark_iceberg"
    assert target.pop("threads") == 4
    data = SparkIcebergCredentials.translate_aliases(target)
    SparkIcebergCredentials.validate(data)
    assert SparkIcebergCredentials.from_dict(data).method == target["method"]


def test_a_lakehouse_needs_three_answers():
    """The first two questions ask for the database and the connection. The README explains all three."""
    asked = [name for name in LAKEHOUSE if not name.startswith("_fixed")]
    assert asked == []
    assert [name for name in TEMPLATE["prompts"] if not name.startswith("_")] == ["schema"]
    assert written(CHOICES[0]) == {
        "type": "spark_iceberg",
        "threads": 4,
        "method": "session",
        "warehouse": "./lakehouse",
        "schema": "analytics",
    }


def test_a_spark_connect_server_without_a_token():
    target = written("a Spark Connect server")
    credentials = SparkIcebergCredentials.from_dict(SparkIcebergCredentials.translate_aliases(target))
    assert credentials.remote_server.url("dbt") == "sc://spark.example.com:15002/;user_agent=dbt"
