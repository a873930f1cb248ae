"""Kilometres and boxes on the globe."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.geo import Point, bounding_box, distance_km

RAMAT_AVIV, FLORENTIN, JAFFA = Point(32.113, 34.804), Point(32.056, 34.769), Point(32.054, 34.756)
points = st.builds(Point, st.floats(-90, 90), st.floats(-180, 180))


@pytest.mark.parametrize(
    ("a", "b", "km"),
    [
        (JAFFA, FLORENTIN, 1.24),
        (JAFFA, RAMAT_AVIV, 7.96),
        (JAFFA, JAFFA, 0.0),
        (Point(51.5, -0.12), Point(40.71, -74.01), 5570),  # London to New York
        (Point(0, 179.5), Point(0, -179.5), 111.2),  # across the date line
        (Point(90, 0), Point(-90, 0), 20015),
    ],
)
def test_distances_between_known_places_are_right(a: Point, b: Point, km: float) -> None:
    assert distance_km(a, b) == pytest.approx(km, rel=0.01, abs=0.001)


@given(points, points)
def test_distance_is_the_same_both_ways(a: Point, b: Point) -> None:
    assert distance_km(a, b) == pytest.approx(distance_km(b, a), abs=1e-6)
    assert 0 <= distance_km(a, b) <= 20_016


@given(points, points, st.floats(0.1, 25_000))
def test_every_point_within_the_distance_is_in_the_box(origin: Point, other: Point, km: float) -> None:
    box = bounding_box(origin, km)
    inside = (
        box.south - 1e-6 <= other.lat <= box.north + 1e-6 and box.west - 1e-6 <= other.lng <= box.east + 1e-6
    )
    assert inside or distance_km(origin, other) > km * (1 - 1e-9)


def test_the_box_is_not_much_larger_than_needed() -> None:
    box = bounding_box(JAFFA, 10)
    assert box.north - box.south == pytest.approx(2 * 10 / 111.2, rel=0.01)
    assert box.east - box.west == pytest.approx(
        2 * 10 / (111.2 * math.cos(math.radians(JAFFA.lat))), rel=0.01
    )
