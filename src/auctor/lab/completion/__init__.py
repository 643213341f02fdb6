"""Matrix completion: a low-rank matrix from some of its entries."""

from auctor.lab.completion.choose import Choice, choose
from auctor.lab.completion.complete import Completion, complete

__all__ = ["Choice", "Completion", "choose", "complete"]
