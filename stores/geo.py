"""Compute distances on the globe, and boxes around a point. Pure: no Django."""

from dataclasses import dataclass
from math import asin, cos, degrees, radians, sin, sqrt
from typing import Final

EARTH_RADIUS_KM: Final = 6371.0088
"""The mean radius; the real earth differs by less than half a per cent."""


@dataclass(frozen=True, slots=True)
class Point:
    """A position in degrees, WGS 84."""

    lat: float
    lng: float


def point_of(lat: float | None, lng: float | None) -> Point | None:
    """Return the point of two columns, or None where they are empty."""
    return None if lat is None or lng is None else Point(lat, lng)


@dataclass(frozen=True, slots=True)
class Box:
    """All points between two latitudes and two longitudes, in degrees."""

    south: float
    west: float
    north: float
    east: float


def distance_km(a: Point, b: Point) -> float:
    """Return the great-circle distance in kilometres."""
    lat_a, lat_b = radians(a.lat), radians(b.lat)
    half_lat, half_lng = (lat_b - lat_a) / 2, radians(b.lng - a.lng) / 2
    chord = sin(half_lat) ** 2 + cos(lat_a) * cos(lat_b) * sin(half_lng) ** 2
    return 2 * EARTH_RADIUS_KM * asin(sqrt(min(1.0, chord)))


def km_between(a: Point | None, b: Point | None) -> float | None:
    """Return the distance in kilometres, or None where one of the points is not known."""
    return distance_km(a, b) if a and b else None


def bounding_box(origin: Point, km: float) -> Box:
    """Return a box that contains every point within `km` of the origin (its corners are farther away).

    Around a pole or across the date line it contains all longitudes: larger than needed, never too small.
    """
    angle = km / EARTH_RADIUS_KM
    south, north = origin.lat - degrees(angle), origin.lat + degrees(angle)
    if south <= -90 or north >= 90:
        return Box(max(south, -90.0), -180.0, min(north, 90.0), 180.0)
    # Not angle / cos(lat): the box is widest nearer to the pole than the origin is.
    reach = degrees(asin(min(1.0, sin(angle) / cos(radians(origin.lat)))))
    west, east = origin.lng - reach, origin.lng + reach
    if west < -180 or east > 180:
        west, east = -180.0, 180.0
    return Box(south, west, north, east)
