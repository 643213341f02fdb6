"""Readable models, trained for the number you report, with a proof of how good the fit is.

Start with ``auctor.TableClassifier`` for a raw table, or ``auctor.MetricClassifier`` for a matrix.
Both follow scikit-learn's API. The rooms of the library (``auctor.metrics``, ``auctor.losses``,
``auctor.solvers``, ``auctor.tune``, ...) are modules; nothing is loaded until it is used.
"""

from auctor.core.lazy import names_on_first_use
from auctor.core.version import __version__ as __version__

__getattr__, __dir__, __all__ = names_on_first_use(__name__, __file__)
