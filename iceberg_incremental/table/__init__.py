"""What Iceberg says of a table, as frozen values; pure."""
