"""What the source documents describe and no default of auctor uses.

Published and stochastic solvers, online learners, quadratic programs, least squares, maps that are
not linear, matrix completion. Nothing outside this room imports it but `auctor.testing`; listings
name its classes by their dotted path.
"""
