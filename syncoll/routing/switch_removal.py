"""Removes all switches from a network, at no cost to the trees (ForestColl paper, section C.2).

Groups of vertices that no violated cut can cross are contracted first.  A switch between boxes is
then removed on a graph whose vertices are boxes, and a switch inside a box on that box alone.  On
each of these small graphs a balanced guess is tried and verified; where it makes a cut worse, leaf
switches are narrowed, and their nodes become groups.  If that fails too, exact edge splitting
removes the switches.  In each network all trees must fit, and every switch receives as much as it
sends.
"""

from collections.abc import Callable, Collection, Sequence
from itertools import groupby

from syncoll.routing.network import Network, Pieces
from syncoll.routing.reduction import (
    Groups,
    find_groups,
    is_feasible,
    is_robust,
    is_tight,
    strong_components,
)
from syncoll.routing.splitting import split_switch, split_transit
from syncoll.routing.spreading import balanced_flow, balanced_plan, follow_plan


def remove_switches(network: Network, *, guess: bool = True) -> Groups:
    """Removes all switches in place; returns groups of terminals that may be worth contracting.
    With `guess` it tries balanced guesses before exact splitting."""
    if not network.switches():
        return []
    groups: Groups = []  # that hold a terminal; the switches of other groups on their own
    for group in find_groups(network, network.need):
        alone = not any(network.is_terminal[v] for v in group)
        groups += [[v] for v in group] if alone else [group]
    if not any(len(g) > 1 for g in groups) or len(groups) < 2:
        return _remove_all(network, guess, lambda _: 0)[1]
    rank = {v: place for group in groups for place, v in enumerate(group)}
    small, position = network.quotient(groups)
    loops, larger = _remove_all(small, guess, lambda v: rank.get(network.home[v], 0))
    _put_back(network, small, loops, position)
    trusted: Groups = [
        sorted(v for i in one for v in groups[i] if network.is_terminal[v]) for one in larger
    ]
    frail: set[int] = set()
    for group in groups:
        inner = [v for v in group if not network.is_terminal[v]]
        ends = [v for v in group if network.is_terminal[v]]
        if not ends:
            continue
        spread = guess and len(inner) == 1 and _spread_inside(network, group, inner[0], ends)
        if inner and not spread:
            _remove_inside(network, groups, group, frail, guess)
            if not (is_tight(network, ends) or is_robust(network, ends, network.need)):
                frail.update(ends)
        if len(ends) > 1:
            trusted.append(ends)
    return trusted


def remove_by_leaves(network: Network) -> Groups | None:
    """Removes all switches in place, with leaf switches narrowed to the traffic that must pass
    them.

    A leaf switch with several nodes of its own is split in two: a half at its nodes and a half at
    its uplinks.  The link between them carries each tree rooted elsewhere into the leaf once, and
    the rest of the bandwidth out of it.  If all trees still fit, the rest of the network has leaves
    in place of nodes.

    Returns:
        Groups as above; None, with nothing changed, if no leaf switch can be narrowed or trees
        would not fit.
    """
    below = {w: nodes for w in network.switches() if (nodes := _own(network, w))}
    room = {w: _room(network, w, nodes) for w, nodes in below.items()}
    halves = [w for w, (into, out) in room.items() if into and out]
    first, physical = network.num_vertices, len(network.home)
    upper = {w: first + i for i, w in enumerate(halves)}
    # Paths start and end at the upper half as if it were a switch of its own.
    here = {w: network.pieces[w, next(iter(network.out[w]))][0][0][0] for w in halves}
    there = {here[w]: physical + i for i, w in enumerate(halves)}
    demand, home = [*network.demand, *[0] * len(halves)], [*network.home, *upper.values()]
    narrow = Network(demand, network.terminals, home)
    for (u, v), pieces in network.pieces.items():
        if v in below.get(u, ()) or u in below.get(v, ()):
            narrow.add(u, v, list(pieces))
            continue
        moved = [((there.get(p[0], p[0]), *p[1:-1], there.get(p[-1], p[-1])), n) for p, n in pieces]
        narrow.add(upper.get(u, u), upper.get(v, v), moved)
    for w in halves:
        into, out = room[w]
        narrow.add(upper[w], w, [((there[here[w]], here[w]), into)])
        narrow.add(w, upper[w], [((here[w], there[here[w]]), out)])
    if not halves or not is_feasible(narrow):
        return None
    groups = remove_switches(narrow)
    back = {half: place for place, half in there.items()}
    narrow.pieces = {ends: _rejoined(pieces, back) for ends, pieces in narrow.pieces.items()}
    network.become(narrow)
    return groups


def _rejoined(pieces: Pieces, back: dict[int, int]) -> Pieces:
    """Paths through a switch in place of its halves."""
    places = [([back.get(v, v) for v in path], units) for path, units in pieces]
    return [(tuple(v for v, _ in groupby(path)), units) for path, units in places]


def _own(network: Network, w: int) -> set[int]:
    """Terminals linked only to this switch, if there are at least two, and other ports as well."""
    ports = {*network.into[w], *network.out[w]}
    own = {
        v for v in ports if network.is_terminal[v] and {*network.into[v], *network.out[v]} == {w}
    }
    return own if 1 < len(own) < len(ports) else set()


def _room(network: Network, w: int, own: set[int]) -> tuple[int, int]:
    """Units into and out of a narrowed leaf; 0 where it cannot be narrowed."""
    inward = sum(network.into[w].get(v, 0) for v in own)
    outward = sum(network.out[w].get(v, 0) for v in own)
    into = network.total - sum(network.demand[v] for v in own)
    out = into + inward - outward
    most_in = sum(network.into[w].values()) - inward
    most_out = sum(network.out[w].values()) - outward
    if not 0 < into <= most_in or not 0 < out <= most_out or (into, out) == (most_in, most_out):
        return 0, 0
    return into, out


def _avoid(network: Network, w: int, outside: Collection[int] = ()) -> Callable[[int, int], bool]:
    """Pairs of ports that a switch should rather not join: one box, or two uplinks."""
    ports = {*network.into[w], *network.out[w]}
    widest = max(*network.into[w].values(), *network.out[w].values())
    box = {v: -1 - v for v in ports}
    for i, part in enumerate(strong_components(network, widest + 1)):
        box.update((v, i) for v in part if v in ports)
    own = {v for v in ports if network.is_terminal[v] and v not in outside}
    mixed = bool(own) and len(own) < len(ports)

    def rule(u: int, t: int) -> bool:
        # Ports that appear while other switches are removed are remote: uplinks in another shape.
        if u in box and t in box and box[u] == box[t]:
            return True
        return mixed and u not in own and t not in own

    return rule


def _remove_all(
    network: Network, guess: bool, rail: Callable[[int], int], outside: Collection[int] = ()
) -> tuple[Pieces, Groups]:
    """Removes every switch, farthest from terminals first; returns loops and trusted groups."""
    distance = network.distances()
    order = sorted(network.switches(), key=lambda w: (-distance.get(w, 0), w))
    avoid = {w: _avoid(network, w, outside) for w in order}
    if guess:
        trial = network.copy()
        if _trim_uplinks(trial) and is_feasible(trial):
            # The exact method loses the trimmed capacity too, and no tree needs it.
            network.become(trial.copy())
        else:
            trial = network.copy()
        for w in order:
            plan = balanced_plan(trial, w, avoid[w])
            if plan is None:
                break
            follow_plan(trial, w, plan, rail)
        else:
            if is_feasible(trial):
                network.become(trial)
                return [], []
        groups = remove_by_leaves(network)
        if groups is not None:
            return [], groups
    loops: Pieces = []
    for w in order:
        loops += _remove(network, w, avoid[w], guess and len(order) > 1, rail)
    return loops, []


def remove_switch(network: Network, w: int) -> None:
    """Removes one switch in place; no cut becomes worse than the trees need."""
    _remove(network, w, _avoid(network, w), True, lambda _: 0)


def bypass_transit(network: Network, w: int) -> bool:
    """Gives traffic through a switch from switch to switch direct links, in place.

    The amounts follow from a balanced spread of all that enters the switch, as far as no cut
    becomes worse than the trees need.  Returns whether every pair of switches got a link; if not,
    nothing was changed.
    """
    plan = balanced_flow(network, w)
    if plan is None:
        return False
    own = network.is_terminal
    wanted = {(u, t): units for (u, t), units in plan.items() if not own[u] and not own[t]}
    trial = network.copy()
    done = split_transit(trial, w, wanted)
    pairs = sum(
        1 for u in network.into[w] for t in network.out[w] if u != t and not own[u] and not own[t]
    )
    if len(done) < pairs or not all(done.values()):
        return False
    network.become(trial)
    return True


def _remove(
    network: Network,
    w: int,
    avoid: Callable[[int, int], bool],
    guess: bool,
    rail: Callable[[int], int],
) -> Pieces:
    """Removes a switch by a balanced guess or else exactly; returns loops."""
    if guess:
        trial = network.copy()
        plan = balanced_plan(trial, w, avoid)
        if plan is not None:
            follow_plan(trial, w, plan, rail)
            if is_feasible(trial):
                network.become(trial)
                return []
    return split_switch(network, w, avoid)


def _trim_uplinks(network: Network) -> bool:
    """Narrows uplinks that can carry more than the traffic below them; returns whether it did.

    A leaf switch whose uplinks are wider than its terminals' links would have to pass traffic from
    uplink to uplink, where a balanced guess fails.
    """
    trimmed = False
    for w in network.switches():
        below = sum(c for u, c in network.into[w].items() if network.is_terminal[u])
        above = {u: c for u, c in network.into[w].items() if not network.is_terminal[u]}
        if not below or sum(above.values()) <= below or network.into[w] != network.out[w]:
            continue
        total = sum(above.values())
        room = below
        for u, c in sorted(above.items(), key=lambda item: item[1]):
            # Rounded so that the narrowed links still sum to the links below.
            share = -(-c * room // total)
            total, room = total - c, room - share
            if share < c:
                network.take(u, w, c - share)
                network.take(w, u, c - share)
                trimmed = True
    return trimmed


def _put_back(network: Network, small: Network, loops: Pieces, position: Sequence[int]) -> None:
    """Copies a contracted network's links to the vertices where their paths end."""
    for u, v in list(network.pieces):
        if position[u] != position[v]:
            network.drop(u, v)
    for pieces in [*small.pieces.values(), loops]:
        for path, units in pieces:
            if network.home[path[0]] != network.home[path[-1]]:
                network.add(network.home[path[0]], network.home[path[-1]], [(path, units)])


def _spread_inside(network: Network, group: Sequence[int], w: int, ends: Sequence[int]) -> bool:
    """Tries the balanced guess for a group's switch; undoes it unless the group stays robust.

    No violated cut crosses a robust group.  The other cuts only change when the switch joins two
    ports outside the group, which this guess avoids.
    """
    members = set(group)
    inward = sum(c for v in ends for u, c in network.into[v].items() if u in members)
    outside = sum(c for u, c in network.into[w].items() if u not in members)
    if inward - outside < network.need * len(ends):
        return False  # traffic from outside leaves too little bandwidth inside
    plan = balanced_plan(network, w, lambda u, t: u not in members and t not in members)
    if plan is None or any(u not in members and t not in members for u, t in plan):
        return False
    touched = {w, *network.into[w], *network.out[w]}
    before = {
        (u, v): list(network.pieces[u, v]) for u in touched for v in network.out[u] if v in touched
    }
    follow_plan(network, w, plan, lambda v: 0)
    if is_robust(network, ends, network.need):
        return True
    for u in touched:
        for v in [v for v in network.out[u] if v in touched]:
            network.drop(u, v)
    for (u, v), pieces in before.items():
        network.add(u, v, pieces)
    return False


def _remove_inside(
    network: Network, groups: Groups, group: Sequence[int], frail: set[int], guess: bool
) -> None:
    """Removes a group's switches with the robust groups around it contracted."""
    parts: Groups = []
    for other in groups:
        apart = other is group or not frail.isdisjoint(other)
        parts += [[v] for v in other] if apart else [other]
    local, position = network.quotient(parts)
    outside = set(range(len(parts))).difference(position[v] for v in group)
    loops, _ = _remove_all(local, guess, lambda _: 0, outside)
    _put_back(network, local, loops, position)
