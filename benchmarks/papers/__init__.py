"""The figures and tables of papers in simulation: a module for each paper, the frame beside them.

Each module has its ``FIGURES``: by name a function that makes a `benchmarks.papers.figure.Figure`,
and is told whom to tell how far it is.
"""
