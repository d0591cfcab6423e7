"""The version of the distribution. It is defined only here."""

version = "0.1.0"
