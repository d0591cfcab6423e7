"""Jobs in threads of one session, whose settings they share."""

from __future__ import annotations

from types import SimpleNamespace

from iceberg_incremental.plan.session_settings import SUMMARY_SETTING
from iceberg_incremental.spark.session import SessionSpark
from iceberg_incremental.table.checkpoint import KEY

CHECKPOINT, OTHER = SUMMARY_SETTING + KEY, "spark.sql.sources.partitionOverwriteMode"


class Conf(dict[str, str]):
    def set(self, key, value):
        self[key] = value

    def unset(self, key):
        self.pop(key, None)


def test_no_job_restores_the_checkpoint_of_another_one():
    session = SimpleNamespace(conf=Conf({OTHER: "static"}), session_id="1")
    one, two = SessionSpark(session), SessionSpark(session)
    one.configure(CHECKPOINT, "of one")
    two.configure(CHECKPOINT, "of two")
    one.configure(OTHER, "dynamic")
    one.configure(CHECKPOINT, None)
    one.configure(OTHER, None)
    two.configure(CHECKPOINT, None)
    assert session.conf == {OTHER: "static"}


def test_jobs_of_one_session_share_a_lock():
    sessions = [SimpleNamespace(conf=Conf(), session_id=name) for name in ("1", "1", "2")]
    one, same, other = (SessionSpark(session).alone() for session in sessions)
    assert one is same and one is not other
