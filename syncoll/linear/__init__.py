"""Linear programs as flat arrays, solved by HiGHS."""

from syncoll.linear.program import *
