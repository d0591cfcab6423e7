"""Options that are passed on to dbt, and options that are refused."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from dbt.adapters.spark_iceberg.watch import command_line


@pytest.mark.parametrize(
    ("options", "environment", "passed"),
    [
        ((), {}, ()),
        (("--no-use-colors",), {}, ("--no-use-colors",)),
        (("--use-colors",), {"NO_COLOR": "1"}, ("--use-colors",)),
        ((), {"NO_COLOR": "1"}, ("--no-use-colors",)),
        ((), {"NO_COLOR": ""}, ()),  # as no-color.org specifies
        ((), {"NO_COLOR": "1", "DBT_USE_COLORS": "true"}, ()),  # dbt reads this variable itself
    ],
)
def test_whether_dbt_uses_colors(monkeypatch, options, environment, passed):
    for name in ("NO_COLOR", "DBT_USE_COLORS", "DBT_ENGINE_USE_COLORS"):
        monkeypatch.delenv(name, raising=False)
    found = []

    def load(options):
        found.append(options.common)
        raise SystemExit

    monkeypatch.setattr(command_line.Project, "load", load)
    CliRunner().invoke(command_line.cli, ["watch", "--profiles-dir", ".", *options], env=environment)
    assert [tuple(word for word in common if "colors" in word) for common in found] == [passed]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--metrics-address", "0.0.0.0"], "--metrics-address needs --metrics-port"),
        (["--retry-after", "5m", "--retry-at-most", "1m"], "--retry-at-most is shorter than --retry-after"),
    ],
)
def test_conflicting_options(options, said):
    found = CliRunner().invoke(command_line.cli, ["watch", "--profiles-dir", ".", *options])
    assert found.exit_code == 2
    assert said in found.output


@pytest.mark.parametrize("options", [("--max-wait", "10s"), ("--max-batch", "5")])
def test_options_of_debounce_need_it(options):
    outcome = CliRunner().invoke(command_line.cli, ["watch", "--profiles-dir", ".", *options])
    assert outcome.exit_code == 2 and f"{options[0]} without --debounce has no effect" in outcome.output
