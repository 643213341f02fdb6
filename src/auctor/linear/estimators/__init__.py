"""Linear models with the API of scikit-learn."""
