"""The version of the distribution, which is defined only here."""

version = "0.1.0"
