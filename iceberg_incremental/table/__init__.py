"""A table's Iceberg metadata as frozen values, and pure functions over them."""
