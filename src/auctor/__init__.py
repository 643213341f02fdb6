"""Train classifiers on the metric you report, with a certified gap."""

__version__ = "0.1.0"
