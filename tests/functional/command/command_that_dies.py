"""Runs the command, and kills it with SIGKILL at one of its catalog commits.

Usage: python command_that_dies.py before|after <arguments …>. The process dies immediately before or after its first
commit.
"""

from __future__ import annotations

import os
import signal
import sys

from iceberg_incremental.command.command_line import main
from iceberg_incremental.command.target_commits import TargetCommits

IS_COMMITTED = TargetCommits._is_committed


def dies(moment):
    def is_committed(self, *args, **kwargs):
        if moment == "after":
            assert IS_COMMITTED(self, *args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)

    return is_committed


if __name__ == "__main__":
    TargetCommits._is_committed = dies(sys.argv[1])  # type: ignore[method-assign]
    sys.exit(main(sys.argv[2:]))
