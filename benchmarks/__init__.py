"""Benchmarks: side by side in one run, same accuracy by the same independent objective."""
