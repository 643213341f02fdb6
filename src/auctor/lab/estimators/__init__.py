"""Estimators of the lab with scikit-learn's API."""
