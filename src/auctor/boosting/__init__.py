"""Boosted trees of other libraries, if they are installed (the extra ``boosting``)."""
