"""Creating branches of tables that the catalog has cached, after another process has committed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from iceberg_incremental.spark import table_commits
from iceberg_incremental.table.history import TableName


class Held:
    """A table that is refreshed when a change of its references begins, as in Iceberg."""

    def __init__(self) -> None:
        self.head, self.branches = 1, {"stays": 1}

    def manageSnapshots(self) -> Held:  # noqa: N802 (Iceberg's names)
        self.head = 2
        return self

    def currentSnapshot(self) -> Any:  # noqa: N802
        head = self.head
        return SimpleNamespace(snapshotId=lambda: head)

    def refs(self) -> Any:
        return SimpleNamespace(containsKey=self.branches.__contains__)

    def createBranch(self, name: str, snapshot_id: int) -> None:  # noqa: N802
        self.branches[name] = snapshot_id

    replaceBranch = createBranch  # noqa: N815

    def commit(self) -> None:
        pass

    def refresh(self) -> None:
        pass


class Forgetful(Held):
    """A table whose catalog does not keep a new branch, although the commit succeeded."""

    def refresh(self) -> None:
        self.branches.clear()


def test_a_branch_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for held, is_kept in ((Held(), True), (Forgetful(), False)):
        monkeypatch.setattr(table_commits, "iceberg_table", lambda session, table, held=held: held)
        made = table_commits.TableCommits(None).make_branch(TableName("lake", "db", "t"), "new")  # type: ignore[arg-type]
        assert made is is_kept


@pytest.mark.parametrize("branch", ["new", "stays"])
def test_a_branch_starts_at_the_current_head(monkeypatch: pytest.MonkeyPatch, branch: str) -> None:
    held = Held()
    monkeypatch.setattr(table_commits, "iceberg_table", lambda session, table: held)
    table_commits.TableCommits(None).make_branch(TableName("lake", "db", "t"), branch)  # type: ignore[arg-type]
    assert held.branches[branch] == 2
