"""Kernels of additive models."""
