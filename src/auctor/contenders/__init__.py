"""The contenders of a comparison: auctor's surrogates, and the usual models of scikit-learn.

The latter are logistic regression (default, tuned, balanced), LinearSVC, boosted trees and a
constant score; `auctor.contenders` adds LightGBM.
"""

from auctor.contenders.ours import our_contenders
from auctor.contenders.theirs import their_contenders

__all__ = ["our_contenders", "their_contenders"]
