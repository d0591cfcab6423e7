"""Runs dbt, and kills itself with SIGKILL between two statements of a model.

Usage: python dbt_that_dies.py <statement> <dbt arguments …>. The process dies before the model's statement with
this number, counted from 1. With 0 it does not die, and the last line of its output is the number of statements.
"""

from __future__ import annotations

import os
import signal
import sys

from dbt.adapters.spark.connections import PyhiveConnectionWrapper
from dbt.cli.main import dbtRunner


def main(dies_at: int, arguments: list[str]) -> int:
    execute = PyhiveConnectionWrapper.execute
    sent: list[str] = []

    def counted(self, sql, bindings=None):
        if '"node_id": "model.' in sql:
            sent.append(sql)
            if len(sent) == dies_at:
                os.kill(os.getpid(), signal.SIGKILL)
        return execute(self, sql, bindings)

    PyhiveConnectionWrapper.execute = counted  # type: ignore[method-assign]
    outcome = dbtRunner().invoke(arguments)
    sys.stdout.write(f"statements: {len(sent)}\n")
    return 0 if outcome.success else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
