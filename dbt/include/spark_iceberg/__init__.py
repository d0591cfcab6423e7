"""The dbt package of the adapter: its macros and its profile template."""

from pathlib import Path

PACKAGE_PATH = str(Path(__file__).parent)

# In a checkout the macros are a link. Where it is lost (git without symbolic links, a copy that drops them) dbt would
# find a package without macros and say nothing, until a model asks for one.
if not Path(PACKAGE_PATH, "macros").is_dir():
    raise ImportError(
        f"dbt-spark-iceberg has no macros: {PACKAGE_PATH}/macros should be a folder, or in a checkout a link to"
        " ../../../macros. Check out again with `git -c core.symlinks=true`, or install the wheel instead."
    )
