"""Families of medium level on numbers."""

from masgym.domains.code.families.template import Family, letters, numbers, whole

_TENS = '(1000, "M"), (500, "D"), (100, "C"), (50, "L"), (10, "X"), (5, "V"), (1, "I")'
_ALL = (
    '(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), '
    '(50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")'
)
_ONES = '(1000, "M"), (500, "D"), (100, "C"), (50, "L"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")'

FAMILIES = (
    Family(
        name="to_base",
        level="medium",
        entry_point="to_base",
        parameters=("n",),
        statement=(
            "Write the integer n in base $base, as a text; digits above 9 are the letters from a on. A negative number "
            "has a minus sign in front."
        ),
        program="""def to_base(n):
    if n == 0:
        return "0"
    digits, rest = "", abs(n)
    while rest:
        digits = "0123456789abcdef"[rest % $base] + digits
        rest //= $base
    return ("-" if n < 0 else "") + digits
""",
        mistakes=(
            ("if n == 0", "if n == 1"),
            ('digits = "0123456789abcdef"[rest % $base] + digits', 'digits += "0123456789abcdef"[rest % $base]'),
            ('("-" if n < 0 else "") + digits', "digits"),
            ("    while rest:", "    while rest > 1:"),
        ),
        variants=({"base": "2"}, {"base": "3"}, {"base": "7"}, {"base": "16"}),
        draw=lambda rng: [whole(rng, -300, 900)],
        edges=([0], [1], [-10], [255]),
    ),
    Family(
        name="roman",
        level="medium",
        entry_point="roman",
        parameters=("n",),
        statement=(
            "Write n, from 1 to 3999, in Roman numerals: M 1000, D 500, C 100, L 50, X 10, V 5, I 1, from large to "
            "small. $rule"
        ),
        program="""def roman(n):
    made = ""
    for value, sign in [$table]:
        while n >= value:
            made += sign
            n -= value
    return made
""",
        mistakes=(
            ("while n", "if n"),
            ("n >= value", "n > value"),
            ("made += sign", "made = sign + made"),
            ("[$table]", "[$other]"),
        ),
        variants=(
            {
                "rule": "A smaller sign before a larger one is subtracted: CM 900, CD 400, XC 90, XL 40, IX 9, IV 4.",
                "table": _ALL,
                "other": _ONES,
            },
            {"rule": "Nothing is subtracted: 4 is IIII, 9 is VIIII, 90 is LXXXX.", "table": _TENS, "other": _ALL},
            {
                "rule": "Only 4 and 9 as the last digit are written by subtraction, IV and IX; 40 is XXXX, 900 DCCCC.",
                "table": _ONES,
                "other": _ALL,
            },
        ),
        draw=lambda rng: [whole(rng, 1, 3999)],
        edges=([1], [4], [9], [40], [944]),
    ),
    Family(
        name="primes",
        level="medium",
        entry_point="primes",
        parameters=("low", "high"),
        statement="Of the primes from low to high, both included, return $what.",
        program="""def primes(low, high):
    found = []
    for n in range(max(low, 2), high + 1):
        divisor = 2
        while divisor * divisor <= n and n % divisor:
            divisor += 1
        if divisor * divisor > n:
            found.append(n)
    return $result
""",
        mistakes=(
            ("high + 1", "high"),
            ("max(low, 2)", "max(low + 1, 2)"),
            ("max(low, 2)", "max(low, 1)"),
            ("divisor * divisor > n", "divisor * divisor >= n"),
        ),
        variants=(
            {"what": "how many there are", "result": "len(found)"},
            {"what": "the sum", "result": "sum(found)"},
            {"what": "the list, from small to large", "result": "found"},
            {
                "what": "the smallest and the largest, in a list; [] if there are none",
                "result": "found[:1] + found[-1:]",
            },
        ),
        draw=lambda rng: (lambda low: [low, low + whole(rng, -2, 30)])(whole(rng, -3, 60)),
        edges=([0, 5], [1, 1], [4, 9], [5, 7], [24, 25], [14, 16]),
    ),
    Family(
        name="halving",
        level="medium",
        entry_point="walk",
        parameters=("n",),
        statement=(
            "Start from n, at least 1. While the number is not 1, halve it if it is even, else take three times it "
            "plus 1. Return $what."
        ),
        program="""def walk(n):
    seen = [n]
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        seen.append(n)
    return $result
""",
        mistakes=(
            ("seen = [n]", "seen = []"),
            ("n != 1", "n > 2"),
            ("3 * n + 1", "n + 1"),
            ("$result", "$other"),
        ),
        variants=(
            {"what": "the number of steps", "result": "len(seen) - 1", "other": "len(seen)"},
            {"what": "the largest number met, n included", "result": "max(seen)", "other": "max(seen[1:] or seen)"},
            {
                "what": "how many of the numbers met are odd, n and 1 included",
                "result": "sum(v % 2 for v in seen)",
                "other": "sum(v % 2 for v in seen[1:])",
            },
            {
                "what": "the sum of the numbers met, n and 1 included",
                "result": "sum(seen)",
                "other": "sum(set(seen[1:]))",
            },
        ),
        draw=lambda rng: [whole(rng, 1, 60)],
        edges=([1], [2], [4], [27]),
    ),
    Family(
        name="check_digit",
        level="medium",
        entry_point="check_digit",
        parameters=("digits",),
        statement=(
            "Number the digits of a text from its end, from 0 on. Multiply those with an even number by $even, the "
            "others by $odd; of a product of two digits take the sum of its digits. Return, as a text, the smallest "
            "number from 0 on that makes the sum of all these divisible by $mod."
        ),
        program="""def check_digit(digits):
    total = 0
    for place, digit in enumerate(reversed(digits)):
        part = int(digit) * ($even if place % 2 == 0 else $odd)
        total += part // 10 + part % 10
    return str(-total % $mod)
""",
        mistakes=(
            ("reversed(digits)", "digits"),
            ("part // 10 + part % 10", "part"),
            ("-total", "total"),
            ("place % 2 == 0", "place % 2"),
        ),
        variants=(
            {"even": "2", "odd": "1", "mod": "10"},
            {"even": "3", "odd": "1", "mod": "10"},
            {"even": "4", "odd": "7", "mod": "9"},
            {"even": "5", "odd": "2", "mod": "7"},
        ),
        draw=lambda rng: [letters(rng, 1, 8, "0123456789")],
        edges=([""], ["0"], ["79"]),
    ),
    Family(
        name="rank",
        level="medium",
        entry_point="rank",
        parameters=("a",),
        statement="Return the $which of the different numbers in a list a; None if there are fewer than $count.",
        program="""def rank(a):
    different = sorted(set(a)$order)
    return different[$k] if len(different) > $k else None
""",
        mistakes=(
            ("set(a)$order", "a$order"),
            ("else None", "else different[-1] if different else None"),
            ("different[$k]", "different[$k - 1]"),
            ("set(a)$order", "set(map(abs, a))$order"),
            ("> $k else", ">= $k else"),
        ),
        variants=(
            {"which": "second largest", "count": "2", "order": ", reverse=True", "k": "1"},
            {"which": "third smallest", "count": "3", "order": "", "k": "2"},
            {"which": "third largest", "count": "3", "order": ", reverse=True", "k": "2"},
            {"which": "second smallest", "count": "2", "order": "", "k": "1"},
        ),
        draw=lambda rng: [numbers(rng, 1, 7, -4, 6)],
        edges=([[]], [[5, 5]], [[1, 2]], [[3, 3, 1, 1]], [[-2, 2, 1]]),
    ),
)
