"""Use names that are no text, too long, or commands to a terminal."""

import os
import sys


def optimize(problem, start, seed, deadline, offer):
    for name in (b"\xff\xfe", b"n" * 255, b"a\nb", b"\x1b[2J", b"-rf", b"%s%n", b"a\0b", b"x" * 5000, "\ud800"):
        quietly(os.mkdir, name)
        quietly(os.symlink, name, b"to-" + name[:200] if isinstance(name, bytes) else "to")
    sys.stdout.write("\ud800\udfff\x00\x1b]0;owned\x07\n")
    sys.stderr.write("\udcff\x00\x9b31m\n")
    raise ValueError("\ud800 \x00 \x1b[2J \x9b2J \r overwritten")
