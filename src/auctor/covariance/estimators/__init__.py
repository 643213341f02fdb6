"""Sparse inverse covariance with the API of scikit-learn."""
