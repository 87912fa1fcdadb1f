"""The verbs: a folder each, from which the shell, Python and the reference pages are made.

The ``__init__`` of a folder declares its verb by its first function with ``@verb``.  The signature
has names, types and defaults; ``Args`` of the docstring, or `syncoll.verbs.keywords`, has a
sentence for each.  The docstring of the module describes the command, with examples.  These modules
load nothing heavy.

``shell.py``, where there is one, has the part of the shell alone, see `syncoll.cli.command`.  A
folder of folders is a command with commands of its own.
"""
