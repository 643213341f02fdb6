"""Peers for ranking losses, each with a protocol of its own: not raced on a grid."""
