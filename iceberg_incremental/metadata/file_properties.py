"""The location of a catalog's files, and the credentials to read them, as properties of PyIceberg's FileIO. Pure."""

from __future__ import annotations

from collections.abc import Mapping

_PASSED_ON = ("s3.", "gcs.", "adls.", "client.region", "client.access-key-id", "py-io-impl")
_NOT_PASSED_ON = ("s3.path-style-access",)  # PyIceberg's default; it only has s3.force-virtual-addressing, the opposite
_RENAMED = {
    "adls.auth.shared-key.account.name": "adls.account-name",
    "adls.auth.shared-key.account.key": "adls.account-key",
}
_S3A = {
    "spark.hadoop.fs.s3a.access.key": "s3.access-key-id",
    "spark.hadoop.fs.s3a.secret.key": "s3.secret-access-key",
    "spark.hadoop.fs.s3a.session.token": "s3.session-token",
    "spark.hadoop.fs.s3a.endpoint.region": "s3.region",
}
_S3A_ENDPOINT = "spark.hadoop.fs.s3a.endpoint"
_S3A_TLS = "spark.hadoop.fs.s3a.connection.ssl.enabled"
_DEFAULT_FILE_SYSTEM = "spark.hadoop.fs.defaultFS"


def is_redacted(value: str) -> bool:
    """Whether a value is the placeholder that SQL's SET shows for a credential."""
    return value.endswith("(redacted)")


def with_own_values(settings: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Spark's settings, with the values that Spark hides replaced by those in ``own``, which are from the profile."""
    return {key: own.get(key, value) if is_redacted(value) else value for key, value in settings.items()}


def file_properties(settings: Mapping[str, str], spark_settings: Mapping[str, str]) -> dict[str, str]:
    """FileIO properties from a catalog's own settings, completed from Spark's Hadoop settings for S3."""
    visible = {key: value for key, value in spark_settings.items() if not is_redacted(value)}
    properties = {name: visible[key] for key, name in _S3A.items() if key in visible}
    if endpoint := spark_settings.get(_S3A_ENDPOINT):
        scheme = "http" if spark_settings.get(_S3A_TLS, "true").lower() == "false" else "https"
        properties["s3.endpoint"] = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
    for key, value in settings.items():
        if key.startswith(_PASSED_ON) and key not in _NOT_PASSED_ON:
            properties[_RENAMED.get(key, key)] = value
    return properties


def with_default_scheme(location: str, spark_settings: Mapping[str, str]) -> str:
    """A location as Hadoop resolves it. Without a scheme, it is on the default file system."""
    default = spark_settings.get(_DEFAULT_FILE_SYSTEM, "file:///").rstrip("/")
    return location if ":" in location or default.startswith("file:") else f"{default}{location}"
