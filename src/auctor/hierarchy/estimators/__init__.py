"""Models of labels with a taxonomy, with the API of scikit-learn."""
