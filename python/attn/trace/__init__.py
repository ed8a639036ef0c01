"""Functions of scores, traced: symbols, captured arrays, other libraries' functions, and their text."""
