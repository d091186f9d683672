"""Text and automata: bytes and strings, states that are ints, Booleans or strings, parsers, balances."""

from tests.loops.cases import case
from tests.loops.data import args, octets, text, words


@case(args(text("the cat  sat\n")), "K&R 1.5.4", kind="word count: flag and three counters")
def wc(s):
    lines = letters = ws = 0
    inside = False
    for c in s:
        letters += 1
        if c == "\n":
            lines += 1
        if c == " " or c == "\n":
            inside = False
        elif not inside:
            inside = True
            ws += 1
    return lines, ws, letters


@case(args(text("EAIOU aeiou xyz")), "vowels", kind="in a string")
def count_vowels(s):
    c = 0
    for ch in s.lower():
        if ch in "aeiou":
            c += 1
    return c


@case(args(text("0123456789")), "atoi", "any", kind="big int: s*10 + digit")
def atoi(s):
    v = 0
    for c in s:
        v = v * 10 + (ord(c) - ord("0"))
    return v


@case(args(text("0123456789"), 97), "remainder of a long number", kind="affine mod m, ord")
def long_mod(s, m):
    r = 0
    for c in s:
        r = (r * 10 + ord(c) - 48) % m
    return r


@case(args(text("01")), "binary to int, mod 3", kind="automaton by arithmetic")
def divisible_by_3(s):
    r = 0
    for c in s:
        r = (2 * r + (c == "1")) % 3
    return r == 0


@case(args(text("()ab")), "LeetCode 20, one kind", kind="balance with a flag")
def balanced_flag(s):
    depth = 0
    ok = True
    for c in s:
        if c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
        if depth < 0:
            ok = False
    return ok and depth == 0


@case(args(text("(()())x")), "LeetCode 20, early exit", kind="balance, return inside")
def balanced_early(s):
    depth = 0
    for c in s:
        if c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
            if depth < 0:
                return False
    return depth == 0


@case(args(octets(b"()()x")), "LeetCode 1614", kind="depth and its maximum")
def deepest(s):
    depth = best = 0
    for b in s:
        if b == 40:
            depth += 1
            best = max(best, depth)
        elif b == 41:
            depth -= 1
    return best


@case(args(text("()")), "LeetCode 921", kind="brackets to add")
def brackets_to_add(s):
    opened = missing = 0
    for c in s:
        if c == "(":
            opened += 1
        elif opened > 0:
            opened -= 1
        else:
            missing += 1
    return opened + missing


@case(args(text("ULDR")), "LeetCode 657", kind="position")
def robot(s):
    x = y = 0
    for c in s:
        if c == "U":
            y += 1
        elif c == "D":
            y -= 1
        elif c == "L":
            x -= 1
        else:
            x += 1
    return x, y


@case(args(text("FLR")), "turtle", kind="direction mod 4 and position", expect="any")
def turtle(s):
    x = y = 0
    d = 0
    for c in s:
        if c == "L":
            d = (d + 1) % 4
        elif c == "R":
            d = (d + 3) % 4
        elif d == 0:
            x += 1
        elif d == 1:
            y += 1
        elif d == 2:
            x -= 1
        else:
            y -= 1
    return x, y, d


ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


@case(args(text("IVXLCDM")), "Rosetta Code (Roman numerals)", kind="dict as data, previous value")
def roman(s):
    total = 0
    prev = 0
    for c in s:
        v = ROMAN[c]
        total += v
        if v > prev:
            total -= 2 * prev
        prev = v
    return total


@case(args(text("IVXLCDM")), "Roman numerals from the right", kind="reversed, dict as data")
def roman_back(s):
    total = 0
    largest = 0
    for c in reversed(s):
        v = ROMAN[c]
        if v < largest:
            total -= v
        else:
            total += v
            largest = v
    return total


@case(args(text('ab,"cd",x')), "csv fields", kind="string-valued state")
def csv_fields(s):
    state = "start"
    fields = 1
    for c in s:
        if state == "quoted":
            if c == '"':
                state = "start"
        elif c == '"':
            state = "quoted"
        elif c == ",":
            fields += 1
    return fields, state


@case(args(text("ab/*c\n ")), "comments", kind="string state of four values")
def code_letters(s):
    state = "code"
    n = 0
    for c in s:
        if state == "code":
            if c == "/":
                state = "slash"
            else:
                n += 1
        elif state == "slash":
            if c == "*":
                state = "comment"
            else:
                state = "code"
                n += 2
        elif state == "comment":
            if c == "*":
                state = "star"
        else:
            state = "code" if c == "/" else "star" if c == "*" else "comment"
    return n


@case(args(text("ab12 .")), "isdigit and isalpha", kind="str methods of a character")
def classes(s):
    d = a = o = 0
    for c in s:
        if c.isdigit():
            d += 1
        elif c.isalpha():
            a += 1
        else:
            o += 1
    return d, a, o


@case(args(text("a1 b22")), "numbers in a text", kind="digits by automaton")
def how_many_numbers(s):
    inside = False
    n = 0
    for c in s:
        digit = c.isdigit()
        if digit and not inside:
            n += 1
        inside = digit
    return n


@case(args(text("abc12 ")), "sum of numbers in a text", "any", kind="int parsed in the walk, big ints")
def sum_of_numbers(s):
    total = cur = 0
    for c in s:
        if c.isdigit():
            cur = cur * 10 + int(c)
        else:
            total += cur
            cur = 0
    return total + cur


@case(args(text("aab")), "consecutive letters", kind="prev char")
def doubled(s):
    prev = ""
    n = 0
    for c in s:
        if c == prev:
            n += 1
        prev = c
    return n


@case(args(text("aaab")), "longest run of a character", kind="prev char, run and which")
def longest_char(s):
    prev = ""
    run = 0
    best = 0
    which = ""
    for c in s:
        run = run + 1 if c == prev else 1
        if run > best:
            best = run
            which = c
        prev = c
    return best, which


@case(args(octets(b"abcab")), "state machine by table", kind="table[state][symbol]", expect="any")
def find_abab(s):
    table = [[1, 0, 0], [1, 2, 0], [3, 0, 0], [1, 4, 0], [3, 0, 0]]
    state = 0
    hits = 0
    for b in s:
        state = table[state][b - 97]
        if state == 4:
            hits += 1
    return hits


@case(args(text("abcab")), "state machine by if", kind="int state, hits")
def find_abc(s):
    state = 0
    hits = 0
    for c in s:
        if c == "a":
            state = 1
        elif c == "b" and state == 1:
            state = 2
        elif c == "c" and state == 2:
            state = 0
            hits += 1
        else:
            state = 0
    return hits


@case(args(words(["push", "pop", "add"])), "stack depth from words", kind="strings compared")
def stack_depth(ops):
    depth = low = 0
    for op in ops:
        if op == "push":
            depth += 1
        elif op == "pop":
            depth -= 1
        low = min(low, depth)
    return depth, low


@case(args(text("abC dE")), "title case count", kind="isupper and prev")
def capitals_after_space(s):
    n = 0
    for i in range(1, len(s)):
        if s[i].isupper() and s[i - 1] == " ":
            n += 1
    return n


@case(args(octets(b"a\r\n")), "line ends", kind="\\r\\n automaton")
def line_ends(s):
    cr = False
    n = 0
    for b in s:
        if b == 10:
            if not cr:
                n += 1
            cr = False
        elif b == 13:
            n += 1
            cr = True
        else:
            cr = False
    return n


@case(args(octets(bytes([0x41, 0xC3, 0xA9, 0xE2, 0x82, 0xAC]))), "UTF-8 lengths", kind="bit tests on bytes")
def utf8_characters(s):
    n = 0
    for b in s:
        if (b & 0xC0) != 0x80:
            n += 1
    return n


@case(args(octets(bytes([0x41, 0xC3, 0xA9, 0xE2, 0x82, 0xAC]))), "UTF-8 check", kind="countdown automaton, return")
def utf8_valid(s):
    left = 0
    for b in s:
        if left:
            if b >> 6 != 2:
                return False
            left -= 1
        elif b >> 7 == 0:
            continue
        elif b >> 5 == 6:
            left = 1
        elif b >> 4 == 14:
            left = 2
        else:
            return False
    return left == 0
