"""The record: every table and figure of the five documents, what they print, and what we measure.

A document is a file of facts (``zhang.toml`` and so on) and a module of the same name, which is a
section of the suite ``papers``: it measures, or reads what another results file holds already.
"""
