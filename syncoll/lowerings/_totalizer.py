r"""The generalized totalizer: sums of sums in a tree, a variable for each threshold needed.

The totalizer (Bailleux & Boufkhad 2003) has a tree whose leaves are a row's literals; every inner
node counts, in unary, how many literals below it are true.  The generalized totalizer (Joshi,
Martins & Manquinho 2015) does the same for sums of coefficients.  A node's variable ``N >= w``
means that the literals below N sum to at least w; the clauses of ``A + B = N`` are

* upwards, for a high bound: ``A >= a and B >= b  ->  N >= w`` for the least pairs ``a + b >= w``;
* downwards, for a low bound: ``A < a and B < b  ->  N < w``, likewise.

Differences from the papers:

* Thresholds are requested from the root down.  The root only needs to know whether its sum exceeds
  `high` (or reaches `low`), so a child needs only the thresholds of its pairs.  This caps the nodes
  at high + 1, and drops thresholds that siblings cannot complete: a bound near the total is as
  cheap as one near 0.
* Thresholds that break the row by themselves get no variable: their clauses state it directly.
  Only these clauses are enforced; the definitions always hold, so that learnt clauses stay valid.
* A leaf may be a chain of literals that each imply the one before, such as an order-encoded
  integer.  It is sorted already and costs nothing.  A row ``count - b*r <= 0`` gets one totalizer
  for the count with only the outputs ``floor(b*v) + 1`` and a clause for each value v of r.
* Literals with equal coefficients share a balanced subtree, so that its sums are few; the subtrees
  and chains are then joined smallest first.
* Both directions share their variables.

Size, for an upper bound ``0 < k < n`` over n literals of coefficient 1: a node with children of p
and q leaves among its m = p + q needs the thresholds ``max(1, k+1-(n-m)) <= w <= min(m, k)``.  Each
has one variable, except at the root.  The clauses are the pairs ``(i, j) != (0, 0), i <= p, j <=
q`` with a needed threshold i + j, and those pairs ``i, j >= 1`` with ``i + j = k + 1``.  For k much
smaller than n this is about ``n * (k + log2 k)`` clauses, half of them in the n/k nodes of more
than k leaves.
"""

import heapq
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import accumulate

from syncoll.lowerings._template import SumShape, Template, TemplateBuilder


class TotalizerTooLargeError(Exception):
    """A totalizer would exceed its limit; another encoding must do."""


@dataclass(eq=False)
class _Node:
    """A node of the tree.

    Args:
        sums: possible sums of the literals below, ascending, capped.
        left: one child, None at a leaf.
        literals: the placeholder for ``N >= w``, if it has one.
        up, down: thresholds whose upward or downward clauses are needed.
        forbidden: this sum breaks the row; 0 for none.
        required: missing this sum breaks the row; 0 for none.
    """

    sums: list[int]
    left: "_Node | None" = None
    right: "_Node | None" = None
    literals: dict[int, int] = field(default_factory=dict)
    up: set[int] = field(default_factory=set)
    down: set[int] = field(default_factory=set)
    forbidden: int = 0
    required: int = 0


def _pair(a: _Node, b: _Node, cap: int, limit: int) -> _Node:
    """The node of the sums of two nodes."""
    if len(a.sums) * len(b.sums) > limit:
        raise TotalizerTooLargeError
    x, y = [0, *a.sums], [0, *b.sums]
    if x[-1] == len(a.sums) and y[-1] == len(b.sums):  # both count by ones
        return _Node(list(range(1, min(x[-1] + y[-1], cap) + 1)), a, b)
    return _Node(sorted({min(i + j, cap) for i in x for j in y} - {0}), a, b)


def _leaves(shape: SumShape, cap: int) -> list[_Node]:
    """A node for every single and every chain."""
    leaves: list[_Node] = []
    first = 1
    chains = [(c,) for c, count in shape.singles for _ in range(count)] + list(shape.chains)
    for chain in chains:
        literals: dict[int, int] = {}
        for literal, total in enumerate(accumulate(chain), start=first):
            literals.setdefault(min(total, cap), literal)
        leaves.append(_Node(list(literals), literals=literals))
        first += len(chain)
    return leaves


def _tree(shape: SumShape, cap: int, limit: int) -> _Node:
    leaves = _leaves(shape, cap)

    def balanced(first: int, last: int) -> _Node:
        if last - first == 1:
            return leaves[first]
        middle = (first + last + 1) // 2
        return _pair(balanced(first, middle), balanced(middle, last), cap, limit)

    parts: list[_Node] = []
    first = 0
    for _, count in shape.singles:
        parts.append(balanced(first, first + count))
        first += count
    parts += leaves[first:]
    heap = [(len(part.sums), i, part) for i, part in enumerate(parts)]
    heapq.heapify(heap)
    for i in range(len(parts), 2 * len(parts) - 1):
        a, b = heapq.heappop(heap)[2], heapq.heappop(heap)[2]
        node = _pair(a, b, cap, limit)
        heapq.heappush(heap, (len(node.sums), i, node))
    return heap[0][2]


def _upward(a: _Node, b: _Node, w: int) -> list[tuple[int, int]]:
    """The least pairs of sums of a and b that reach w; 0 is no condition."""
    pairs: list[tuple[int, int]] = []
    last = -1
    for i in [0, *a.sums]:
        place = bisect_left(b.sums, w - i) if i < w else -1
        if place == len(b.sums):
            continue
        j = b.sums[place] if place >= 0 else 0
        if j != last:
            pairs.append((i, j))
            last = j
        if j == 0:
            break
    return pairs


def _downward(a: _Node, b: _Node, w: int) -> list[tuple[int, int]]:
    """The greatest pairs such that sums of a and b below them miss w; 0 is no condition."""
    pairs: list[tuple[int, int]] = []
    reached = 0
    for i in [*a.sums, 0]:  # here 0 stands for "more than all": always below it
        if reached >= w:
            break
        place = bisect_left(b.sums, w - reached)
        j = b.sums[place] if place < len(b.sums) else 0
        if pairs and pairs[-1][1] == j:
            pairs.pop()
        pairs.append((i, j))
        reached = i
    return pairs


def _alone(pairs: list[tuple[int, int]]) -> tuple[int, int]:
    """The largest sum of either node that occurs in a pair by itself; 0 for none."""
    first = max((i for i, j in pairs if j == 0), default=0)
    return first, max((j for i, j in pairs if i == 0), default=0)


class _Writer:
    """Writes the clauses of a tree, parents before children."""

    def __init__(self, out: TemplateBuilder, limit: int) -> None:
        self._out = out
        self._limit = limit

    def write(self, root: _Node) -> None:
        """All clauses below a root whose forbidden and required sums are set."""
        stack = [root]
        while stack:
            node = stack.pop()
            if self._out.num_clauses > self._limit:
                raise TotalizerTooLargeError
            if node.left is None or node.right is None:
                self._leaf(node)
            else:
                self._inner(node, node.left, node.right)
                stack += [node.right, node.left]

    def _leaf(self, node: _Node) -> None:
        if node.forbidden:
            self._out.enforce(-node.literals[node.forbidden])
        if node.required:
            self._out.enforce(node.literals[node.required])

    def _at_least(self, node: _Node, w: int, asked: set[int]) -> int:
        """The literal ``N >= w``, 0 for w = 0; it requests the literal's clauses."""
        if w == 0:
            return 0
        if node.left is not None:
            asked.add(w)
            if w not in node.literals:
                node.literals[w] = self._out.auxiliary()
        return node.literals[w]

    def _inner(self, node: _Node, a: _Node, b: _Node) -> None:
        out = self._out
        pairs = _upward(a, b, node.forbidden) if node.forbidden else []
        if pairs:
            a.forbidden, b.forbidden = _alone(pairs)
        for i, j in pairs:
            if i and j:
                out.enforce(-self._at_least(a, i, a.up), -self._at_least(b, j, b.up))
        pairs = _downward(a, b, node.required) if node.required else []
        if pairs:
            a.required, b.required = _alone(pairs)
        for i, j in pairs:
            if i and j:
                out.enforce(self._at_least(a, i, a.down), self._at_least(b, j, b.down))
        # A pair with a part that breaks the row by itself needs no clauses for the rest.
        for w in sorted(node.up):
            for i, j in _upward(a, b, w):
                if (a.forbidden and i >= a.forbidden) or (b.forbidden and j >= b.forbidden):
                    continue
                given = -self._at_least(a, i, a.up), -self._at_least(b, j, b.up)
                out.define(*given, node.literals[w])
        for w in sorted(node.down):
            for i, j in _downward(a, b, w):
                if 0 < i <= a.required or 0 < j <= b.required:
                    continue
                given = self._at_least(a, i, a.down), self._at_least(b, j, b.down)
                out.define(*given, -node.literals[w])


def totalizer(shape: SumShape, limit: int) -> Template:
    """The clauses of a row with ``low <= high``.  Raises `TooLargeError` if the clauses, or the
    pairs of sums of two nodes, exceed `limit`."""
    low, high, total = shape.low, shape.high, shape.total
    builder = TemplateBuilder(shape.num_inputs)
    if high < 0 or low > total:
        builder.enforce()
    elif low > 0 or high < total:
        bounded = high < total
        # Sums from the cap on need no distinction.
        root = _tree(shape, high + 1 if bounded else low, limit)
        if bounded:
            root.forbidden = root.sums[bisect_left(root.sums, high + 1)]
        if low > 0:
            root.required = root.sums[bisect_left(root.sums, low)]
        _Writer(builder, limit).write(root)
    return builder.build()
