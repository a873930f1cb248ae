"""Recognise emergencies in a customer's message, before any model or tool is called.

The rules are the YAML files beside this module; docs/emergencies.md explains how to read and change them. `rules.py` loads
and applies them, `detection.py` decides with the classifiers of `agent/understanding`.
"""

from agent.safety.emergency.detection import (
    CALL_NOW,
    CLASSIFIER,
    Alarm,
    alarms,
    deeds,
    detect,
    detect_all,
    is_surely_harmless,
    kinds_of,
    sounds_urgent,
)
from agent.safety.emergency.rules import Emergency

__all__ = [
    "CALL_NOW",
    "CLASSIFIER",
    "Alarm",
    "Emergency",
    "alarms",
    "deeds",
    "detect",
    "detect_all",
    "is_surely_harmless",
    "kinds_of",
    "sounds_urgent",
]
