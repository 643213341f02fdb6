"""Compiled inner loops: free functions on plain arrays, no classes."""
