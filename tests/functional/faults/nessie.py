"""Nessie's server, in memory, with tables in an S3-compatible server. Maven Central has it as one jar."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.functional.metadata.servers import HOST, JARS, JAVA, accepts, free_port, running

VERSION = "0.99.0"
_MODULE = f"""<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="tests" module="nessie"/>
  <configurations><conf name="default"/></configurations>
  <dependencies defaultconf="default->default">
    <dependency org="org.projectnessie.nessie" name="nessie-quarkus" rev="{VERSION}" transitive="false">
      <artifact name="nessie-quarkus" type="jar" m:classifier="runner"/>
    </dependency>
  </dependencies>
</ivy-module>"""


def newer_java() -> str | None:
    """A Java that runs Nessie: 21 or later, which the Java of Spark need not be. None if there is none."""
    for java in [JAVA, *map(str, sorted(Path("/usr/lib/jvm").glob("*/bin/java")))]:
        said = subprocess.run([java, "-version"], check=False, capture_output=True, text=True).stderr
        version = re.search(r'version "(\d+)', said)
        if version is not None and int(version[1]) >= 21:
            return java
    return None


@contextmanager
def nessie(java: str, folder: Path, s3_port: int, bucket: str, key: str, secret: str) -> Iterator[int]:
    """Yields the server's port."""
    folder.mkdir()
    (folder / "ivy.xml").write_text(_MODULE)
    ivy = [str(path) for path in JARS.glob("ivy-*.jar")]
    retrieve = ["-warn", "-ivy", str(folder / "ivy.xml"), "-retrieve", f"{folder}/[artifact].[ext]"]
    subprocess.run([JAVA, "-cp", *ivy, "org.apache.ivy.Main", *retrieve], check=True, cwd=folder)
    port = free_port()
    s3 = "nessie.catalog.service.s3.default-options"
    settings = {
        "quarkus.http.host": HOST,
        "quarkus.http.port": port,
        "quarkus.management.host": HOST,
        "quarkus.management.port": free_port(),
        "nessie.version.store.type": "IN_MEMORY",
        "nessie.catalog.default-warehouse": bucket,
        f"nessie.catalog.warehouses.{bucket}.location": f"s3://{bucket}/",
        f"{s3}.endpoint": f"http://{HOST}:{s3_port}/",
        f"{s3}.path-style-access": "true",
        f"{s3}.region": "us-east-1",
        f"{s3}.access-key": "urn:nessie-secret:quarkus:keys",
        "keys.name": key,
        "keys.secret": secret,
    }
    options = [f"-D{name}={value}" for name, value in settings.items()]
    with running(
        [java, "-Xmx512m", *options, "-jar", str(folder / "nessie-quarkus.jar")],
        folder / "log",
        ready=lambda: accepts(port),
    ):
        yield port
