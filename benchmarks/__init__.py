"""What the package costs, as ratios to the hand-written statement or to what people run today: docs/benchmarks.md."""
