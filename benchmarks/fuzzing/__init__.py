"""What is fuzzed: one module per target, with `seeds`, `mutate` and `check`."""
