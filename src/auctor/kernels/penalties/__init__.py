"""Proximal operators of penalties."""
