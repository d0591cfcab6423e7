"""Runs the DAG of examples/cosmos in this process, as `airflow dags test` does.

Usage, with Airflow's Python: play_cosmos.py <shop.py> <states.json>. Writes the state of each task to the file. Airflow
logs to standard output.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from runpy import run_path

from airflow.models.taskinstance import TaskInstance
from airflow.utils.session import create_session


def main(path: str, states_file: str) -> None:
    run = run_path(path)["shop"].test()
    with create_session() as session:
        tasks = session.query(TaskInstance).filter_by(dag_id="shop", run_id=run.run_id)
        states = {task.task_id: task.state for task in tasks}
    Path(states_file).write_text(json.dumps(states), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
