"""The command line.  Its start imports no solver; a command imports its modules when it runs."""
