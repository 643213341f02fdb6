"""Learners of other packages for the suite ``online``."""
