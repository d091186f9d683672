"""Strings and lists of them that grow with the data."""

from tests.loops.cases import case
from tests.loops.data import args, text


@case(args(text("ab c")), "reverse a string", "any", kind="string grows at the front")
def backwards(s):
    out = ""
    for c in s:
        out = c + out
    return out


@case(args(text("aab")), "run-length encoding", "refuse", note="state grows: a list of runs under a condition")
def encode_runs(s):
    out = []
    prev, n = None, 0
    for c in s:
        if c == prev:
            n += 1
        else:
            if n:
                out.append((prev, n))
            prev, n = c, 1
    if n:
        out.append((prev, n))
    return out


@case(args(text("ab,c")), "split by hand", "refuse", note="state grows: strings")
def split(s):
    parts = []
    cur = ""
    for c in s:
        if c == ",":
            parts.append(cur)
            cur = ""
        else:
            cur += c
    parts.append(cur)
    return parts


@case(args(text("([)]")), "LeetCode 20, kinds of brackets", "refuse", note="state grows: a stack")
def balanced_kinds(s):
    stack = []
    for c in s:
        if c in "([":
            stack.append(c)
        elif not stack or stack.pop() != {")": "(", "]": "["}[c]:
            return False
    return not stack


@case(args(text("cab")), "Caesar", "any", kind="join of a generator")
def caesar(s, k=3):
    out = []
    for c in s:
        out.append(chr((ord(c) - 97 + k) % 26 + 97))
    return "".join(out)
