"""The figures and tables of papers in simulation: a module for each paper, and their frame.

Each module has its ``FIGURES``: by name a function that makes a `benchmarks.papers.figure.Figure`,
and takes a callback for progress.
"""
