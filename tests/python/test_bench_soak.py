"""The requests of `bench/cached --soak`, and what counts as a lower share of hits."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from harness.soak import DAY, HOUR, WEEK, Count, DayResult, Requests


def kinds_of(requests):
    return {request.key.split(b":")[0].decode() for request in requests}


def test_requests_are_the_same_for_one_seed_and_have_the_days_kinds():
    first, second = Requests(7), Requests(7)
    for n, day in enumerate(WEEK):
        found = first.at(n * DAY, 500)
        assert found == second.at(n * DAY, 500)
        expected = {kind.name for kind, _ in (day.kinds[:1] if day.turns else day.kinds)}
        assert kinds_of(found) == expected
        assert len(found) == 500
    assert Requests(8).at(0, 500) != Requests(7).at(0, 500)


def test_kinds_take_turns_by_the_hour():
    n, day = next((n, day) for n, day in enumerate(WEEK) if day.turns)
    found = [kinds_of(Requests(1).at(n * DAY + hour * HOUR, 50)) for hour in range(2 * day.turns)]
    assert found == [{day.kinds[0][0].name}] * day.turns + [{day.kinds[1][0].name}] * day.turns


def test_sizes_and_lifetimes_are_fixed_by_the_key_and_within_the_kinds_ends():
    requests = Requests(1)
    forms = {}
    for n, day in enumerate(WEEK):
        ends = {kind.name: kind for kind, _ in day.kinds}
        for hour in range(0, 24, 3):
            for request in requests.at(n * DAY + hour * HOUR, 300):
                kind = ends[request.key.split(b":")[0].decode()]
                assert kind.size[0] <= request.size <= kind.size[1]
                assert kind.lifetime[0] <= request.lifetime <= kind.lifetime[1]
                assert forms.setdefault((n, request.key), request) == request


def test_fresh_keys_take_the_place_of_others():
    n, kind = next((n, kind) for n, day in enumerate(WEEK) for kind, _ in day.kinds if kind.fresh)
    requests = Requests(1)

    def numbers(second):
        return {int(r.key.split(b":")[1]) for r in requests.at(second, 2000) if r.key.startswith(kind.name.encode())}

    hours = kind.keys // kind.fresh
    assert not numbers(n * DAY) & numbers(n * DAY + hours * HOUR)
    assert numbers(n * DAY) & numbers(n * DAY + 60)


def test_lower_begins_below_995_thousandths():
    def day(ours: int, theirs: int) -> DayResult:
        return DayResult("a day", Count(1000, ours), Count(1000, theirs))

    assert not day(995, 1000).is_lower
    assert day(994, 1000).is_lower
    assert not day(0, 0).is_lower and day(0, 0).ratio is None
    assert day(900, 800).ratio == 1.125
