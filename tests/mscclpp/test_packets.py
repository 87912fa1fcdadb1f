"""Packets of data and the flag of their call, as in plans of protocol LL."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from syncoll.errors import UncheckedError, VerificationError
from syncoll.plugins import CheckedExport
from syncoll_mscclpp import RECORD

Plan = dict[str, Any]
Plans = dict[str, Callable[[], Plan]]


def check(plan: Plan) -> CheckedExport:
    return RECORD.load_checker().check({"plan.json": json.dumps(plan).encode()}, {})


def refuse(plan: Plan, match: str, error: type[VerificationError] = VerificationError) -> None:
    with pytest.raises(VerificationError, match=match) as caught:
        check(plan)
    assert type(caught.value) is error


def ops_of(plan: Plan, rank: int = 0, block: int = 0) -> list[dict[str, Any]]:
    ops = plan["gpus"][rank]["threadblocks"][block]["ops"]
    assert isinstance(ops, list)
    return ops


@pytest.fixture
def gathered(packet_plans: Plans) -> Plan:
    return packet_plans["gathered"]()


@pytest.fixture
def reduced(packet_plans: Plans) -> Plan:
    return packet_plans["reduced"]()


@pytest.fixture
def passed_on(packet_plans: Plans) -> Plan:
    return packet_plans["passed_on"]()


def test_plans_of_packets_are_followed(packet_plans: Plans) -> None:
    every = {"gathered": "allgather", "reduced": "allreduce", "passed_on": "broadcast"}
    for name, does in {**every, "networked": "allgather", "multicast": "allgather"}.items():
        checked = check(packet_plans[name]())
        assert (checked.collective, checked.result_checked) == (does, True)
        assert checked.facts["protocol"] == "LL"


def test_packets_of_the_next_call_must_not_overwrite(
    gathered: Plan, reduced: Plan, passed_on: Plan
) -> None:
    refuse({**gathered, "use_double_scratch_buffer": False}, r"race: it writes packet s\[\d\]")
    check({**reduced, "use_double_scratch_buffer": False})  # both get a signal that it was read
    # Two halves do not help a rank without any signal.
    for gpu in passed_on["gpus"]:
        block = gpu["threadblocks"][0]
        block["ops"] = [op for op in block["ops"] if "rlx" not in op["name"]]
    refuse({**passed_on, "use_double_scratch_buffer": True}, r"race: it writes packet s\[0\]")


def test_errors_in_packets_are_found(gathered: Plan, reduced: Plan) -> None:
    plan = copy.deepcopy(gathered)
    ops_of(plan, 1, 0)[0]["dst_buff"][0]["index"] = 0
    refuse(plan, "waits forever|deadlock|race|wrong result")
    plan = copy.deepcopy(gathered)
    ops_of(plan)[0]["src_buff"][0]["index"] = 1
    refuse(plan, "race|wrong result|anything is stored")
    plan = copy.deepcopy(reduced)
    ops_of(plan, 0, 1)[0]["src_buff"][0]["index"] = 0
    refuse(plan, "race|wrong result")
    plan = copy.deepcopy(gathered)
    plan["gpus"][0]["remote_buffers"][0]["type"] = "o"
    refuse(plan, "they can only be in scratch")
    plan = copy.deepcopy(gathered)
    ops_of(plan, 0, 2)[0]["src_buff"][0]["index"] = 3
    refuse(plan, r"s\[3\] of rank 0, whose s has 3 chunks")
    refuse({**gathered, "protocol": "Simple"}, "needs the protocol LL")


def test_a_slot_written_twice_orders_nothing(passed_on: Plan) -> None:
    """Both packets have the same flag, so the reader may take either."""
    ops = ops_of(passed_on)
    ops.insert(-1, {"name": "nop"})
    ops.insert(-1, copy.deepcopy(ops[2]))
    refuse(passed_on, r"race: .*packet s\[0\] of rank 1")


def test_proxies_pass_packets_on_as_they_are(packet_plans: Plans) -> None:
    """A proxy waits for no flag, and reads its source later; one half of scratch is too few."""
    networked = packet_plans["networked"]
    refuse({**networked(), "use_double_scratch_buffer": False}, r"race: it writes packet s")
    plan = networked()
    put = ops_of(plan)[1]
    put |= {"name": "ppkt", "src_buff": put["src_buff"] * 2}
    refuse(plan, "takes the source from the memory of the first plan .*; expected rppkt")
    plan["reuse_resources"] = True
    refuse(plan, r"race: it reads packet s\[0\] of rank 0, .*cpkt.* writes")
    ops_of(plan).insert(1, {"name": "nop"})
    for rank in (1, 2):
        ops_of(plan, rank).insert(1, {"name": "nop"})
    check(plan)
    plan = networked()
    ops_of(plan)[1]["channel_ids"] = [0]
    refuse(plan, "1 channels for 2 targets")
    plan = networked()
    ops_of(plan)[1]["channel_ids"] = [1, 0]
    refuse(plan, "puts to a buffer of rank 1 over a channel to rank 2")
    plan = networked()
    del ops_of(plan)[0]
    refuse(plan, "waits forever|deadlock")


def test_multicast_packets_need_scratch_at_all_ranks(packet_plans: Plans) -> None:
    plan = packet_plans["multicast"]()
    for gpu in plan["gpus"]:
        gpu["channels"][0]["buffer_type"] = "o"
    refuse(plan, "packets to o of rank 0; they can only be in scratch")
    plan = packet_plans["multicast"]()
    ops_of(plan)[1]["dst_buff"][0]["index"] = 1
    refuse(plan, "waits forever: the packets of packet s\\[0\\] of rank 1")


def test_unsupported_features_are_unchecked(gathered: Plan) -> None:
    plan = copy.deepcopy(gathered)
    ops_of(plan)[0]["name"] = "put"
    refuse(plan, r"rank 1 keeps data in s\[0\], where it has packets as well", UncheckedError)
    plan = copy.deepcopy(gathered)
    copies = {"name": "copy", "src_buff": [{"type": "o", "index": 0, "size": 1}]}
    ops_of(plan).append({**copies, "dst_buff": [{"type": "s", "index": 2, "size": 1}]})
    refuse(plan, r"rank 0 keeps data in s\[2\], where it has packets as well", UncheckedError)
