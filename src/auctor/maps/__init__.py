"""Score maps."""
