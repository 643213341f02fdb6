"""Additive models with the API of scikit-learn."""
