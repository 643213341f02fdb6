"""Solvers for penalties with kinks: l1, boxes, groups, trees."""
