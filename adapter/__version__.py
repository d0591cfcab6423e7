"""The version of the distribution: the only place that names it."""

version = "0.1.0"
