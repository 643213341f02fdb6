"""Codes of the ASCII characters that the readers of text compare bytes with."""

from __future__ import annotations

# Blanks and line ends.
TAB = 9
NEWLINE = 10
RETURN = 13
SPACE = 32

# Characters of the formats: a quote around fields, a comment, index:value, qid.
QUOTE = 34
HASH = 35
COLON = 58
SMALL_D = 100
SMALL_I = 105
SMALL_Q = 113

# Characters of numbers.
PLUS = 43
MINUS = 45
DOT = 46
ZERO = 48
NINE = 57
LARGE_E = 69
SMALL_E = 101
