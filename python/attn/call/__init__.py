"""Calls: their checks, the problem and the arguments of a kernel, and the functions that users call."""
