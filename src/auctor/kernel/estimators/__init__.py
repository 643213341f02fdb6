"""Kernel machines with the API of scikit-learn."""
