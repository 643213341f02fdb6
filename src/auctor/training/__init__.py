"""Turns labels, weights, folds, strengths and thresholds into a fitted model."""
