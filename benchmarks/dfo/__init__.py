"""Problems, contenders and measures of the suite on derivative-free optimisation."""
