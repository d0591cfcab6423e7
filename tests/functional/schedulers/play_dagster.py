"""Evaluates the sensor of examples/dagster as Dagster's daemon does, and executes the run that it asks for.

Usage, with Dagster's Python: play_dagster.py <definitions.py>. Prints one line of JSON: ``skipped``, or the keys that
were ``selected``, and whether the run was a ``success``.
"""

from __future__ import annotations

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location

import dagster as dg


def main(path: str) -> None:
    spec = spec_from_file_location("definitions", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    with dg.DagsterInstance.ephemeral() as instance:
        asked = module.due(dg.build_sensor_context(instance=instance, definitions=module.defs))
        if isinstance(asked, dg.SkipReason):
            sys.stdout.write(json.dumps({"skipped": asked.skip_message}) + "\n")
            return
        job = module.defs.resolve_job_def("build_due")
        done = job.execute_in_process(instance=instance, asset_selection=asked.asset_selection, raise_on_error=False)
        selected = sorted(key.to_user_string() for key in asked.asset_selection)
        sys.stdout.write(json.dumps({"selected": selected, "success": done.success}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
