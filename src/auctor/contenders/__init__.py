"""The contenders of a comparison: auctor's models, a constant, and the usual models of others."""

from auctor.contenders.ours import our_contenders

__all__ = ["our_contenders"]
