"""The command ``iceberg-incremental``: capture, publish and abort runs of jobs in any language, by PyIceberg alone."""
