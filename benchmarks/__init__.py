"""The cost of the package, as ratios to hand-written statements and to common alternatives: docs/benchmarks.md."""
