"""What the source documents describe and no default of auctor uses.

Published and stochastic solvers, online learners, penalties, quadratic programs, least squares,
maps that are not linear, matrix completion, trees by AUC. Nothing outside this room imports it but
`auctor.testing`; listings name its classes by their dotted path.
"""

from auctor.core.lazy import names_on_first_use

__getattr__, __dir__, __all__ = names_on_first_use(__name__, __file__)
