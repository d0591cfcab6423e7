"""A Java of its own for a program whose engine runs there, through Py4J."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway


def started(jars: Iterable[str] = (), options: Iterable[str] = ()) -> Any:
    """Start a Java with the engine's jars, and return the gateway to it. It ends with this process.

    ``jars``: further jars, which come first; ``options``: options of Java.
    """
    home = os.environ.get("JAVA_HOME")
    port = launch_gateway(
        classpath=os.pathsep.join([*jars, os.environ["ENGINE_JARS"]]),
        javaopts=["-Duser.timezone=UTC", "-XX:TieredStopAtLevel=1", *options],
        java_path=str(Path(home, "bin", "java")) if home else "java",
        die_on_exit=True,
        redirect_stdout=sys.stderr,
        redirect_stderr=sys.stderr,
    )
    return JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
