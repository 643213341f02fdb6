"""Matrix completion: a low-rank matrix from some of its entries."""

from auctor.completion.choose import Choice, choose
from auctor.completion.complete import Completion, complete

__all__ = ["Choice", "Completion", "choose", "complete"]
