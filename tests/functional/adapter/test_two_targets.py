"""Two dbt commands in one process, with different targets, which share the process's Spark."""

from __future__ import annotations

import json
import subprocess
import sys

import yaml

SCRIPT = """
import json, sys
from dbt.cli.main import dbtRunner

found = []
for target in ("tokyo", "plain", "elsewhere"):
    shown = []
    outcome = dbtRunner(callbacks=[lambda event: shown.append(str(event.info.msg))]).invoke(
        ["show", "--inline", "select current_timezone() as zone", "--target", target, *sys.argv[1:]]
    )
    rows = [dict(zip(each.agate_table.column_names, row)) for each in outcome.result or () for row in each.agate_table]
    found.append([rows, shown + [str(outcome.exception)]])
print("FOUND" + json.dumps(found))
"""
ZONE = "spark.sql.session.timeZone"
ENDPOINT = "spark.hadoop.fs.s3a.endpoint"


def test_settings_of_another_target_do_not_apply(tmp_path, embedded_target):
    own = embedded_target.get("server_side_parameters", {})

    def target(**settings):
        return {**embedded_target, "schema": "targets", "server_side_parameters": {**own, **settings}}

    outputs = {
        "tokyo": target(**{ZONE: "Asia/Tokyo", ENDPOINT: "http://one"}),
        "plain": target(**{ENDPOINT: "http://one"}),
        "elsewhere": target(**{ENDPOINT: "http://two"}),
    }
    (tmp_path / "dbt_project.yml").write_text(yaml.safe_dump({"name": "shop", "version": "1.0", "profile": "shop"}))
    (tmp_path / "profiles.yml").write_text(yaml.safe_dump({"shop": {"target": "plain", "outputs": outputs}}))
    folders = ["--project-dir", str(tmp_path), "--profiles-dir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *folders], capture_output=True, text=True, check=False, timeout=300
    )
    assert "FOUND" in done.stdout, done.stderr[-3000:]
    (tokyo, _), (plain, _), (elsewhere, said) = json.loads(done.stdout.partition("FOUND")[2])
    assert tokyo == [{"zone": "Asia/Tokyo"}]
    assert plain and plain != tokyo
    assert not elsewhere
    assert f"Found: other values of {ENDPOINT}." in "\n".join(said)
