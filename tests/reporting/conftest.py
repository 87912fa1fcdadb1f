"""Frontiers of every kind that a report may be about, small ones."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import syncoll
from syncoll.model import Algorithm, Instance, Topology
from syncoll.reporting import Subject, page
from syncoll.reporting.times import Times, usual_model
from syncoll.results import Family, Frontier, Part

from .browser import Browser, executable

BEFORE = Path(__file__).parents[1] / "documents" / "before"


def unpacked(packed: dict[str, Any]) -> npt.NDArray[np.int64]:
    """An array as the page's script reads it."""
    planes = np.frombuffer(zlib.decompress(base64.b64decode(packed["data"])), dtype=np.uint8)
    places = planes.reshape(packed["bytes"], packed["count"]).astype(np.int64)
    found: npt.NDArray[np.int64] = (places << (8 * np.arange(packed["bytes"]))[:, None]).sum(axis=0)
    return found


def data_of(html: str) -> Any:
    """The data of a page."""
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert match is not None
    return json.loads(match[1])


def shown(subject: Subject) -> str:
    """The page of a subject, with an assumed model."""
    times = Times.of(subject, *usual_model(subject.topology))
    return page(subject, times)


@pytest.fixture(scope="session")
def dgx1(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a frontier of two points."""
    path = tmp_path_factory.mktemp("frontiers") / "dgx1.json"
    syncoll.pareto("dgx1", "allgather", max_steps=3, progress="none").save(path)
    return path


def family() -> Family:
    """A broadcast along a line of three nodes: S = m + 1, C = m."""
    line = Topology.from_matrix("line", [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    instance = Instance(line, "broadcast", 1, 2, 2, [[1, 0, 0]], [[1, 1, 1]])  # type: ignore[arg-type]
    wave = Part(instance, Algorithm((1, 1), np.array([[0, 0, 1, 0], [0, 1, 2, 1]])))
    return Family(wave, (1,), 1, found_by="hand")


def only_families() -> Frontier:
    """A frontier without points."""
    one = family()
    return Frontier(one.topology, "broadcast", (), (), "a pipeline alone", families=(one,))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless browser, where there is one."""
    program = executable()
    if program is None:
        pytest.skip("no Chromium is installed")
    with Browser(program) as found:
        yield found


@pytest.fixture
def clean(browser: Browser) -> Any:
    """No page may complain, or ask for anything but itself."""
    browser.complaints.clear()
    browser.requests.clear()
    browser.look()
    browser.resize(1440)
    yield
    assert not browser.complaints
    assert all(url.startswith(("file:", "data:", "blob:")) for url in browser.requests)
    assert len({url for url in browser.requests if url.startswith("file:")}) == 1
