"""Load the libraries and lexicons that all programs share, without reading settings: once in each test worker's fork server.

See processes.py. Each program loads settings, apps and models itself, from its own environment.
"""

import gc

gc.disable()  # as in manage.py: what is loaded here stays

# ruff: noqa: E402, F401
import celery
import channels.routing
import channels_redis.core
import django.contrib.admin.sites
import django.core.handlers.asgi
import django.db.backends.postgresql.base
import django.db.backends.sqlite3.base
import environs
import langgraph.graph
import numpy
import openai
import phonenumbers
import psycopg
import pygments
import redis.asyncio
import uvicorn.lifespan.on
import uvicorn.loops.asyncio
import uvicorn.protocols.http.h11_impl
import uvicorn.protocols.websockets.websockets_sansio_impl
import wordfreq

from agent.llm.offline.reading.known_words import cue_lexicon, explained_words
from agent.safety import emergency, policy

cue_lexicon()
explained_words(in_sentence=True)
emergency.detect("hello")
policy.check_input("hello")

gc.freeze()
gc.set_threshold(100_000)  # also in each program, as in the tests (conftest.py)
