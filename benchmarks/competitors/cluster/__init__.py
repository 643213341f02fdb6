"""Packages that fit on clusters, as programs for an environment of their own."""
