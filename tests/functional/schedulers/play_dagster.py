"""Evaluates the sensor of examples/dagster as Dagster's daemon does, executes the requested run, and evaluates again.

Usage, with Dagster's Python: play_dagster.py <definitions.py>. Prints one line of JSON. It has ``skipped``, or the keys
that were ``selected``, whether the run was a ``success``, and why the sensor ``then`` skips.
"""

from __future__ import annotations

import json
import sys
from runpy import run_path

import dagster as dg


def main(path: str) -> None:
    example = run_path(path)
    with dg.DagsterInstance.ephemeral() as instance:
        context = dg.build_sensor_context(instance=instance, definitions=example["defs"])
        asked = example["due"](context)
        if isinstance(asked, dg.SkipReason):
            sys.stdout.write(json.dumps({"skipped": asked.skip_message}) + "\n")
            return
        job = example["defs"].resolve_job_def("build_due")
        done = job.execute_in_process(instance=instance, asset_selection=asked.asset_selection, raise_on_error=False)
        selected = sorted(key.to_user_string() for key in asked.asset_selection)
        then = example["due"](context).skip_message
        sys.stdout.write(json.dumps({"selected": selected, "success": done.success, "then": then}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
