"""Checks folders for SimGrid: the program, the platform as XML, the hosts and the script.

The platform of an instance is compared with its topology: each bound must be one shared link on the
routes of exactly its links, with its bandwidth, and each link must have its latency.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException, ElementTree

from syncoll.errors import VerificationError
from syncoll.model import Instance, Topology
from syncoll.plugins import CheckedExport, Options
from syncoll_simgrid.format import FORMAT, link_speeds, script
from syncoll_tables import TableChecker

_NUMBER = r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
_CLOSE = 1e-12
"""Relative error of numbers in decimals."""

_Pair = tuple[int, int]


class SimgridChecker:
    """Reads the files as SimGrid does."""

    def check(
        self, files: Mapping[str, bytes], options: Options, instance: Instance | None = None
    ) -> CheckedExport:
        """See `syncoll.plugins.ExportChecker`."""
        programs = [name for name in files if name.endswith(".c")]
        if len(programs) != 1 or {*files} != {*programs, "platform.xml", "hosts.txt", "run.sh"}:
            raise VerificationError(
                f"the folder has {', '.join(sorted(files)) or 'no files'}; expected one program "
                "NAME.c, platform.xml, hosts.txt and run.sh"
            )
        found = TableChecker(FORMAT).check({programs[0]: files[programs[0]]}, {}, instance)
        nodes = found.num_nodes
        hosts = "".join(f"h{node}\n" for node in range(nodes))
        for name, text in (("hosts.txt", hosts), ("run.sh", script(programs[0][:-2], nodes))):
            if files[name] != text.encode():
                raise VerificationError(f"{name} differs from the exported one; export it again")
        platform = _Platform(files["platform.xml"], nodes)
        for source, destination in sorted(found.links - set(platform.routes)):
            raise VerificationError(f"platform.xml has no route from h{source} to h{destination}")
        if instance is not None and "bandwidth" in options and "latency" in options:
            platform.require_same(instance.topology, options)
        return replace(found, facts={**found.facts, "routes": len(platform.routes)})


class _Platform:
    """The links and routes of a platform.  Raises `VerificationError` if it is malformed."""

    def __init__(self, text: bytes, nodes: int) -> None:
        self.links: dict[str, tuple[float, float, bool]] = {}
        """Bytes per second, seconds, and whether sends share the bandwidth."""
        self.routes: dict[_Pair, list[str]] = {}
        try:
            zone: Any = ElementTree.fromstring(text).find("zone")
        except (ParseError, DefusedXmlException, ValueError, LookupError) as error:
            raise VerificationError(f"platform.xml: {error}") from None
        hosts = []
        for one in () if zone is None or zone.get("routing") != "Full" else zone:
            if one.tag == "host":
                hosts.append(one.get("id"))
            elif one.tag == "link":
                rate = self.number(one, "bandwidth", "Bps"), self.number(one, "latency", "s")
                policy = one.get("sharing_policy", "SHARED")
                if one.get("id") in self.links or policy not in ("SHARED", "FATPIPE"):
                    raise VerificationError(f"platform.xml: a wrong link {one.get('id')}")
                self.links[one.get("id")] = (*rate, policy == "SHARED")
            elif one.tag == "route":
                self.route(one, hosts)
        if hosts != [f"h{node}" for node in range(nodes)]:
            raise VerificationError(f"platform.xml has other hosts than h0 to h{nodes - 1}")

    def number(self, one: Any, name: str, unit: str) -> float:
        match = re.fullmatch(f"{_NUMBER}{unit}", one.get(name, ""))
        if match is None:
            raise VerificationError(f"platform.xml: link {one.get('id')} has no {name} in {unit}")
        return float(match[1])

    def route(self, one: Any, hosts: list[str]) -> None:
        ends, way = (one.get("src"), one.get("dst")), [part.get("id") for part in one]
        words = f"platform.xml: the route from {ends[0]} to {ends[1]}"
        if not set(ends) <= set(hosts) or ends[0] == ends[1]:
            raise VerificationError(f"{words} does not join two hosts")
        pair = hosts.index(ends[0]), hosts.index(ends[1])
        if pair in self.routes or one.get("symmetrical") != "NO":
            raise VerificationError(f"{words} occurs twice, or is not for one direction")
        if not way or not set(way) <= set(self.links):
            raise VerificationError(f"{words} has no links, or unknown ones")
        self.routes[pair] = way

    def require_same(self, topology: Topology, options: Options) -> None:
        """Raises `VerificationError` unless it is the platform of a topology."""
        unit, latencies = link_speeds(topology, options)

        def differs(a: float, b: float) -> bool:
            return abs(a - b) > _CLOSE * max(a, b)

        members: dict[str, set[_Pair]] = {}
        for link, latency in zip(topology.links, latencies, strict=True):
            way = self.routes.get(link, [])
            if differs(sum(self.links[name][1] for name in way), float(latency)):
                raise VerificationError(f"platform.xml: {link} has another latency")
            for name in way:
                if self.links[name][2]:
                    members.setdefault(name, set()).add(link)
        shared = sorted((sorted(pairs), self.links[name][0]) for name, pairs in members.items())
        bounds = sorted(
            (sorted(bound.links), float(bound.chunks_per_round * unit)) for bound in topology.bounds
        )
        if [pairs for pairs, _ in shared] != [pairs for pairs, _ in bounds]:
            raise VerificationError("platform.xml: links share other bandwidths than the machine's")
        for (pairs, rate), (_, wanted) in zip(shared, bounds, strict=True):
            if differs(rate, wanted):
                raise VerificationError(f"platform.xml: {pairs[0]} has another bandwidth")
