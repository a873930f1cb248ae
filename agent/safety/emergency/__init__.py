"""Recognise emergencies in a customer's message by rules that a pharmacist can read, before any model or tool is called.

The rules are the YAML files beside this module; docs/emergencies.md explains how to read and change them. `rules.py` loads
and applies them.
"""

from agent.safety.emergency.rules import Alarm, Emergency, alarms, detect, detect_all, kinds_of, sounds_urgent

__all__ = ["Alarm", "Emergency", "alarms", "detect", "detect_all", "kinds_of", "sounds_urgent"]
