"""Classifiers of streams with the API of scikit-learn."""
