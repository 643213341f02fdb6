"""The forecasters with the methods of scikit-learn."""
