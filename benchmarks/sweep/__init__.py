"""The sweep: every op family, dtype, layout and size against torch. `python benchmarks/sweep`."""
