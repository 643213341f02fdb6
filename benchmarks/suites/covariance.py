"""Sparse inverse covariance against scikit-learn and GGLasso."""

from __future__ import annotations

from benchmarks.sections import covariance_agreement, covariance_graphs, covariance_speed

name = "covariance"
title = "Sparse inverse covariance: speed, memory, and the graphs that are found"
sections = (covariance_speed, covariance_agreement, covariance_graphs)
