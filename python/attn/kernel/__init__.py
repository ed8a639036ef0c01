"""Kernels: libattn, compiling and caches, code in memory or in a library, tensors in memory, devices."""
