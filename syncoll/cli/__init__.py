"""The command line.  Its start imports no solver; each command imports what it needs when run."""
