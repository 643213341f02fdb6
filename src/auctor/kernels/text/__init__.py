"""Parsing of numbers and text."""
