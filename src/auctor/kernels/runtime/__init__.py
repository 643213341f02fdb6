"""How kernels are compiled, cached and run on threads."""
