"""Codes of the ASCII characters that the readers of text compare bytes with."""

from __future__ import annotations

# Blanks and line ends.
TAB = ord("\t")
NEWLINE = ord("\n")
RETURN = ord("\r")
SPACE = ord(" ")

# Characters of the formats: a quote around fields, a comment, index:value, qid.
QUOTE = ord('"')
HASH = ord("#")
COLON = ord(":")
SMALL_D = ord("d")
SMALL_I = ord("i")
SMALL_Q = ord("q")

# Characters of numbers.
PLUS = ord("+")
MINUS = ord("-")
DOT = ord(".")
ZERO = ord("0")
NINE = ord("9")
LARGE_E = ord("E")
SMALL_E = ord("e")
