"""Texts become exact numbers; other texts are refused with the expected form."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from syncoll.errors import UsageError
from syncoll.units import (
    format_bandwidth,
    format_size,
    format_time,
    parse_bandwidth,
    parse_size,
    parse_time,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0.7us", Fraction(7, 10**7)),
        ("700ns", Fraction(7, 10**7)),
        ("7e-7s", Fraction(7, 10**7)),
        (" 0.7 µs ", Fraction(7, 10**7)),
        ("1ms", Fraction(1, 1000)),
        ("0s", Fraction(0)),
        ("+2.50s", Fraction(5, 2)),
    ],
)
def test_times(text: str, seconds: Fraction) -> None:
    assert parse_time(text) == seconds


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("25GB/s", 25 * 10**9),
        ("200Gb/s", 25 * 10**9),
        ("200 Gbit/s", 25 * 10**9),
        ("25GiB/s", 25 * 2**30),
        ("8Gib/s", 2**30),
        ("0.3TB/s", 3 * 10**11),
        ("5kB/s", 5000),
        ("1B/s", 1),
        ("1b/s", Fraction(1, 8)),
        ("400Gbps", 50 * 10**9),
        ("25 GBps", 25 * 10**9),
        ("16 GT/s x16", Fraction(32 * 128 * 10**9, 130)),
        ("5GT/s*8 lanes", 4 * 10**9),
    ],
)
def test_bandwidths(text: str, rate: Fraction) -> None:
    assert parse_bandwidth(text) == rate


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512", 512),
        ("64KiB", 1 << 16),
        ("1.5MB", 1_500_000),
        ("1GiB", 1 << 30),
        ("1M", 1 << 20),
        ("2 k", 2048),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("parse", "text", "complaint"),
    [
        (parse_time, "-1us", "negative time"),
        (parse_time, "1", "has no unit"),
        (parse_time, "1h", "unknown unit 'h'"),
        (parse_time, "1US", "unknown unit 'US'"),
        (parse_time, "soon", "is not a time"),
        (parse_time, "", "is not a time"),
        (parse_time, "1us 2us", "is not a time"),
        (parse_time, "nan s", "is not a time"),
        (parse_time, "1e1000s", "is not a time"),
        (parse_time, "1/0s", "is not a time"),
        (parse_time, "٣us", "is not a time"),
        (parse_bandwidth, "0GB/s", "moves nothing"),
        (parse_bandwidth, "-3GB/s", "moves nothing"),
        (parse_bandwidth, "25GB", "unknown unit 'GB'"),
        (parse_bandwidth, "25", "has no unit"),
        (parse_bandwidth, "25gb/s", "unknown unit 'gb/s'"),
        (parse_bandwidth, "fast", "is not a bandwidth"),
        (parse_size, "0", "not a whole number of at least 1 byte"),
        (parse_size, "0.3KiB", "not a whole number of at least 1 byte"),
        (parse_size, "1Gb", "unknown unit 'Gb'"),
        (parse_size, "-1", "not a whole number of at least 1 byte"),
    ],
)
def test_other_texts_are_refused(parse: Callable[[str], object], text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint) as error:
        parse(text)
    assert "\n" not in str(error.value)


def test_formatted_values() -> None:
    assert format_size(52500) == "51.27 KiB"
    assert format_size(Fraction(1, 3)) == "0.3333 B"
    assert format_size(1 << 30) == "1 GiB"
    assert format_time(Fraction(455, 10**8)) == "4.55 us"
    assert format_time(Fraction(0)) == "0 ns"
    assert format_time(Fraction(2)) == "2 s"
    assert format_bandwidth(Fraction(25 * 10**9)) == "25 GB/s"
    assert format_bandwidth(Fraction(12, 10)) == "1.2 B/s"


@settings(max_examples=40)
@given(st.integers(1, 1 << 80))
def test_shown_sizes_are_near_the_exact_ones(size: int) -> None:
    number, unit = format_size(size).split()
    shown = float(number) * {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[unit]
    assert abs(shown / size - 1) < 1e-3
