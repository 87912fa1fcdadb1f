"""Checks a spec file; lists the definitions of syncoll."""
