"""Search over parameters with the API of scikit-learn."""
