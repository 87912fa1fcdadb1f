"""The shell's part of searches in spec files, which is that of `pareto`."""

from syncoll.verbs.pareto.shell import run as run
