"""Products, sorting and access to rows and columns."""
