"""Read a text loop by loop: words, the longest line and the letters."""

import argparse
from collections import Counter

import rfactor as rf

argparse.ArgumentParser(description=__doc__).parse_args()


@rf.fold
def summary(text: str) -> tuple[int, int, Counter[str]]:
    """Count words and letters, and measure the longest line."""
    count = 0
    inside = False
    for c in text:
        if c == " " or c == "\n":
            inside = False
        elif not inside:
            inside = True
            count += 1
    longest = current = 0
    for c in text:
        if c == "\n":
            current = 0
        else:
            current += 1
            longest = max(longest, current)
    letters: Counter[str] = Counter()
    for c in text:
        if c not in " \n":
            letters[c] += 1
    return count, longest, letters


text = "a loop is a fold\nif runs of its steps have a summary\nthat can be joined\n" * 5000
count, longest, letters = summary(text)
assert (count, longest, letters) == summary.python(text)
assert list(letters) == list(summary.python(text)[2])
print(f"{count} words, the longest line has {longest} characters, {letters.most_common(3)}\n")
print(*(f"line {loop.line}: {loop.verdict}" for loop in summary.explain().loops), sep="\n")
