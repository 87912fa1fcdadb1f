"""Numbers as they change with C: for C = ``unit`` * t compared with C = ``unit``.

Let every chunk of the table for C = ``unit`` be cut into t pieces.  An expression has a value u for
the uncut chunk and a value v for one of its pieces.  A `Form` says how they are related, for every
t and every piece:

    u = step * x + l,   v = step * y + l,   y = t * x + (t - 1) * e,   low <= e <= high,

with whole x, y and ``first <= l <= last``.  A number with ``step`` 0 is the same for all pieces and
all t, such as a node; one with ``low = high = 0`` and l = 0 is t times as large, such as C itself;
the number of a chunk lies in between.  Where nothing is known, e is without bounds.

Two facts carry everything.  Let 0 <= e <= 1.  Then y < 0 exactly where x < 0, so that comparisons
agree; and y div (t * k) = x div k for a whole k > 0, so that blocks of a size proportional to C
keep their number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, inf, lcm

from syncoll.spec.arithmetic import Fault, arithmetic
from syncoll.spec.limits import MAX_NUMBER

__all__ = ["ANY_WHOLE", "Form", "Forms", "Truth", "Unproved"]

_Number = int | Fraction
_End = int | Fraction | float  # a float only when infinite
_Range = tuple[_End, _End]

_ANY: _Range = (-inf, inf)
_MOST_FACTORS = 8


class Unproved(Exception):  # noqa: N818 - caught inside this package, never shown
    """An expression that the analysis does not follow; it may scale all the same."""


@dataclass(frozen=True, slots=True)
class Truth:
    """A Boolean.

    Args:
        same: whether it is the same for an uncut chunk and for all its pieces.
        value: its value when that is the same everywhere; then `same` holds too.
        divisor: what divides C wherever it is true.
    """

    same: bool
    value: bool | None = None
    divisor: int = 1

    def negated(self) -> Truth:
        """``not``."""
        return Truth(self.same, None if self.value is None else not self.value)

    def and_(self, other: Truth) -> Truth:
        """``and``, where both sides are known not to decide alone."""
        if self.value is False or other.value is False:
            return Truth(True, False)
        both = True if self.value and other.value else None
        same = self.same and other.same
        return Truth(same, both, lcm(self.divisor, other.divisor))

    def or_(self, other: Truth) -> Truth:
        """``or``, likewise."""
        if self.value or other.value:
            return Truth(True, True)
        neither = False if self.value is False and other.value is False else None
        divisor = gcd(
            0 if self.value is False else self.divisor, 0 if other.value is False else other.divisor
        )
        return Truth(self.same and other.same, neither, divisor or 1)


@dataclass(frozen=True, slots=True)
class Form:
    """A number; the module's docstring says what most of it means.

    Args:
        step: at least 0.
        low: the least e.
        high: the greatest e.
        first: the least l.
        last: the greatest l.
        whole: whether it is surely a whole number.  If not, and `step` is not 0, nothing is known.
        of_chunks: f where the number is surely f * C.
        residue: (f, q) where the number is surely f * C mod q.
    """

    step: int
    low: _End = 0
    high: _End = 0
    first: _End = -inf
    last: _End = inf
    whole: bool = True
    of_chunks: Fraction | None = None
    residue: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        ends: tuple[_End, ...] = (self.step, self.low, self.high, self.first, self.last)
        for end in ends:
            if not isinstance(end, float) and not -MAX_NUMBER < end < MAX_NUMBER:
                raise Unproved

    @property
    def same(self) -> bool:
        """Whether it is the same for an uncut chunk and all its pieces."""
        return self.step == 0

    @property
    def known(self) -> _Number | None:
        """Its value, when it has only one."""
        if self.step or self.first != self.last or isinstance(self.first, float):
            return None
        return self.first

    @property
    def multiple(self) -> Fraction | None:
        """f where it is f * C; 0 is 0 * C."""
        return Fraction(0) if self.known == 0 else self.of_chunks


ANY_WHOLE = Form(1, -inf, inf, 0, 0)
ANY = Form(1, -inf, inf, 0, 0, whole=False)


def _product(a: _End, b: _End) -> _End:
    return 0 if a == 0 or b == 0 else a * b  # 0 times infinity is 0 here


def _times(one: _Range, other: _Range) -> _Range:
    ends = [_product(a, b) for a in one for b in other]
    return min(ends), max(ends)


def _floor(end: _End, by: int) -> _End:
    return end if isinstance(end, float) else end // by


class Forms:
    """Arithmetic on forms.

    Args:
        unit: a number that divides every C in question.
    """

    def __init__(self, unit: int) -> None:
        self.unit = unit

    @staticmethod
    def constant(value: _Number) -> Form:
        """A number that is given."""
        return Form(0, 0, 0, value, value, whole=isinstance(value, int))

    def proportional(self, factor: Fraction) -> Form:
        """``factor * C``."""
        least = factor * self.unit
        if not factor:
            return self.constant(0)
        if least.denominator != 1:
            return replace(ANY, of_chunks=factor)
        return Form(abs(int(least)), 0, 0, 0, 0, of_chunks=factor)

    @staticmethod
    def _stepping(form: Form, step: int) -> _Range:
        """The bounds of e when x counts steps that are a divisor of the form's own."""
        factor = form.step // step if step else 0
        return (form.low * factor, form.high * factor) if factor else (0, 0)

    def join(self, forms: Iterable[Form]) -> Form:
        """What is common to several numbers, of which the same one is meant everywhere."""
        forms = list(forms)
        if len(set(forms)) == 1:
            return forms[0]
        whole = all(form.whole for form in forms)
        step = gcd(*(form.step for form in forms))
        if step and not whole:
            return ANY
        ends = [self._stepping(form, step) for form in forms]
        return Form(
            step,
            min(low for low, _ in ends),
            max(high for _, high in ends),
            min(form.first for form in forms),
            max(form.last for form in forms),
            whole,
        )

    def negate(self, a: Form) -> Form:
        """``-a``."""
        if a.of_chunks is not None:
            return self.proportional(-a.of_chunks)
        return Form(a.step, -a.high, -a.low, -a.last, -a.first, a.whole)

    def add(self, a: Form, b: Form) -> Form:
        """``a + b``."""
        if a.multiple is not None and b.multiple is not None:
            return self.proportional(a.multiple + b.multiple)
        step, whole = gcd(a.step, b.step), a.whole and b.whole
        if step and not whole:
            return ANY
        one, other = self._stepping(a, step), self._stepping(b, step)
        ends = one[0] + other[0], one[1] + other[1]
        return Form(step, *ends, a.first + b.first, a.last + b.last, whole)

    def subtract(self, a: Form, b: Form) -> Form:
        """``a - b``."""
        return self.add(a, self.negate(b))

    def multiply(self, a: Form, b: Form) -> Form:
        """``a * b``."""
        if a.known is None:
            a, b = b, a
        factor = a.known
        if factor is not None and b.multiple is not None:
            return self.proportional(factor * b.multiple)
        if not (a.whole and b.whole):
            return Form(0, whole=False) if a.same and b.same else ANY
        if factor is not None and factor < 0:
            return self.negate(self.multiply(self.constant(-factor), b))
        rest = _times((a.first, a.last), (b.first, b.last))
        if factor is not None:
            return Form(int(factor) * b.step, b.low, b.high, *rest)
        if not a.same:
            a, b = b, a
        if a.same:
            return Form(b.step, *_times((a.first, a.last), (b.low, b.high)), *rest)
        # The x of each factor also meets the l of the other.
        mixed = (
            one.step * (int(other.first) if other.first == other.last else 1)
            for one, other in ((a, b), (b, a))
        )
        return Form(gcd(a.step * b.step, *mixed), -inf, inf, *rest)

    def compute(self, op: str, a: Form, b: Form) -> Form:
        """``a op b`` for ``+ - * / div mod **``.

        Raises:
            Unproved: when it has no result.
        """
        if a.known is not None and b.known is not None:
            try:
                return self.constant(arithmetic(op, a.known, b.known, None))
            except Fault:
                raise Unproved from None
        return {
            "+": self.add,
            "-": self.subtract,
            "*": self.multiply,
            "/": self._over,
            "div": self._div,
            "mod": self._mod,
            "**": self._power,
        }[op](a, b)

    def _over(self, a: Form, b: Form) -> Form:
        if b.known == 0:
            raise Unproved
        if a.multiple is not None and b.known is not None:
            return self.proportional(a.multiple / b.known)
        if a.multiple is not None and b.of_chunks:
            ratio = a.multiple / b.of_chunks
            return self.constant(int(ratio) if ratio.denominator == 1 else ratio)
        return Form(0, whole=False) if a.same and b.same else ANY

    def _power(self, a: Form, b: Form) -> Form:
        exponent = b.known
        if a.same and b.same:
            return Form(0, whole=a.whole)
        if not isinstance(exponent, int) or not 0 < exponent <= _MOST_FACTORS:
            raise Unproved
        result = a
        for _ in range(exponent - 1):
            result = self.multiply(result, a)
        return result

    def _div(self, a: Form, b: Form) -> Form:
        divisor = b.known
        if divisor == 0:
            raise Unproved
        if isinstance(divisor, int) and a.whole:
            if divisor < 0:
                a, divisor = self.negate(a), -divisor
            if a.of_chunks is not None and a.of_chunks * self.unit % divisor == 0:
                return self.proportional(a.of_chunks / divisor)
            if a.step % divisor:
                return ANY_WHOLE
            ends = _floor(a.first, divisor), _floor(a.last, divisor)
            return Form(a.step // divisor, a.low, a.high, *ends)
        if a.same and b.same:
            return Form(0)
        if a.multiple is not None and b.of_chunks:
            return self.constant(a.multiple // b.of_chunks)
        return ANY_WHOLE if self._in_blocks(a, b) is None else Form(0)

    def _mod(self, a: Form, b: Form) -> Form:
        modulus = b.known
        if modulus == 0:
            raise Unproved
        if isinstance(modulus, int) and a.whole:
            if a.step % modulus == 0:
                if a.first == a.last:
                    return self.constant(int(a.first) % modulus)
                return Form(0, 0, 0, min(0, modulus + 1), max(0, modulus - 1))
            if a.of_chunks is not None and a.of_chunks.denominator == 1:
                return replace(ANY_WHOLE, residue=(int(a.of_chunks), modulus))
            return ANY_WHOLE
        if a.same and b.same:
            return Form(0, whole=a.whole and b.whole)
        if a.multiple is not None and b.of_chunks:
            return self.proportional(a.multiple % b.of_chunks)
        return self._in_blocks(a, b) or (ANY_WHOLE if a.whole and b.whole else ANY)

    def _in_blocks(self, a: Form, b: Form) -> Form | None:
        """Where a is within its block of b, when blocks of b = f * C keep their number."""
        if b.of_chunks is None or b.of_chunks < 0 or not (a.whole and b.whole):
            return None
        size = int(b.of_chunks * self.unit)
        step = gcd(a.step, size)
        low, high = self._carried(a, step)
        if not 0 <= low <= high <= 1:
            return None
        if a.first == a.last:
            return Form(step, low, high, int(a.first) % step, int(a.first) % step)
        return Form(step, low, high, 0, step - 1)

    def _carried(self, a: Form, step: int) -> _Range:
        """The bounds of e after l is brought below the step, which changes x by l div step."""
        low, high = self._stepping(a, step)
        return low - _floor(a.last, step), high - _floor(a.first, step)

    def negative(self, a: Form) -> Truth:
        """``a < 0``."""
        if a.multiple is not None:
            return Truth(True, a.multiple < 0)
        if a.same:
            known = True if a.last < 0 else False if a.first >= 0 else None
            return Truth(True, known)
        if not a.whole:
            return Truth(False)
        low, high = self._carried(a, a.step)
        return Truth(0 <= low <= high <= 1)

    def compare(self, op: str, a: Form, b: Form) -> Truth:
        """``a op b`` for ``== != < <= > >=``."""
        if op in (">", "<="):
            return self.compare("<" if op == ">" else ">=", b, a)
        if op in ("!=", ">="):
            return self.compare("==" if op == "!=" else "<", a, b).negated()
        difference = self.subtract(a, b)
        if op == "<":
            return self.negative(difference)
        return self._equal(a, b, difference)

    def _equal(self, a: Form, b: Form, difference: Form) -> Truth:
        divisor = self._divisor(a, b)
        if difference.multiple is not None:
            return Truth(True, difference.multiple == 0)
        first, last, step = difference.first, difference.last, difference.step
        if difference.same:
            if difference.known is not None or first > 0 or last < 0:
                return Truth(True, difference.known == 0)
            return Truth(True, None, divisor)
        if not difference.whole:
            return Truth(False, None, divisor)
        if first % step and _floor(first, step) == _floor(last, step):
            return Truth(True, False)  # no multiple of the step lies between first and last
        below = self.negative(difference)
        most = self.negative(self.subtract(difference, self.constant(1)))
        return Truth(below.same and most.same, None, divisor)

    @staticmethod
    def _divisor(a: Form, b: Form) -> int:
        """What divides C where the two are equal."""
        for one, other in ((a, b), (b, a)):
            if one.residue is not None and other.known == 0:
                factor, modulus = one.residue
                return abs(modulus) // gcd(factor, modulus)
            if one.of_chunks and isinstance(other.known, int):
                only = other.known / one.of_chunks
                if only > 0 and only.denominator == 1:
                    return int(only)
        return 1
