"""Boosted trees of other libraries, where they are installed (the extra ``boosting``)."""
