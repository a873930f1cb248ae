"""All settings, read from the environment; with nothing set the site runs on SQLite in one process.

README.md has the table of variables. A value that cannot be used stops the start: the error names the variable and
says what to write (`pharmacy_site/validators.py`).
"""

import os
import secrets
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import dj_database_url
import dj_email_url
from csp.constants import NONE, SELF
from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _
from environs import Env

from pharmacy_site import validators as rules
from pharmacy_site.lib.private_files import keep_private

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = BASE_DIR / "var"
VAR_DIR.mkdir(exist_ok=True)
env = Env()


def _stored_secret(name: str) -> str:
    """Return a key of an installation that sets none: made once, in `var/`, readable by its owner only."""
    path = VAR_DIR / name
    if not path.exists():
        with NamedTemporaryFile("w", dir=VAR_DIR, prefix=f"{name}.") as draft:
            draft.write(secrets.token_urlsafe(50))
            draft.flush()
            # The name appears with the whole key behind it; when another process was first, its key counts.
            with suppress(FileExistsError):
                os.link(draft.name, path)
    return path.read_text()


# -- Process ------------------------------------------------------------------------------------------------
DEBUG = env.bool("DEBUG", False)
SECRET_KEY_IS_SET = bool(env.str("SECRET_KEY", ""))
SECRET_KEY = env.str("SECRET_KEY", "") or _stored_secret("secret_key")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"], validate=rules.hosts)
ROOT_URLCONF = "pharmacy_site.urls"
ASGI_APPLICATION = "pharmacy_site.asgi.application"
WSGI_APPLICATION = "pharmacy_site.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# How many proxies in front add to X-Forwarded-For.
TRUSTED_PROXIES = env.int("TRUSTED_PROXIES", 0, validate=rules.AT_LEAST_0)

INSTALLED_APPS = [
    "pharmacy_site",  # before staticfiles: its `runserver` is the one that counts
    "modeltranslation",
    "unfold",
    "unfold.contrib.filters",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "pharmacy_site.staff",  # behind django_otp, whose admin pages it takes away; before auth: its commands for passwords are the ones that count
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "csp",
    "phonenumber_field",
    "stores",
    "inventory",
    "prescriptions",
    "agent",
    "evaluation",
]

MIDDLEWARE = [
    "agent.web.problems.OneLength",
    "agent.web.problems.Outage",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "pharmacy_site.middleware.PagePolicy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "pharmacy_site.staff.gate.StaffGate",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.debug",
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "prescriptions.admin.alerts.shown",
            ]
        },
    }
]

# -- Database -----------------------------------------------------------------------------------------------
DATABASE: dict[str, Any] = dj_database_url.parse(  # type: ignore[assignment]
    env.str("DATABASE_URL", f"sqlite:///{VAR_DIR / 'pharmacy.sqlite3'}", validate=rules.database_url)
)
# Seconds; then the customer reads that we are busy.
DATABASE_LOCK_TIMEOUT = env.int("DATABASE_LOCK_TIMEOUT", 10, validate=rules.AT_LEAST_1)
DATABASE_POOL = env.int("DATABASE_POOL", 20, validate=rules.AT_LEAST_1)
if DATABASE["ENGINE"].endswith("sqlite3"):
    # A writer takes the lock when its transaction begins: a deferred one fails when it turns from reader to writer.
    DATABASE["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": DATABASE_LOCK_TIMEOUT,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
    DATABASE["CONN_MAX_AGE"] = None
    DATABASE["TEST"] = {"NAME": f"{DATABASE['NAME']}.test"}
else:
    # Without the pool ASGI opens a session for each request (connections are per thread context).
    DATABASE["OPTIONS"] = {
        "pool": {"min_size": 1, "max_size": DATABASE_POOL, "timeout": DATABASE_LOCK_TIMEOUT},
        "options": f"-c lock_timeout={DATABASE_LOCK_TIMEOUT}s",
    }
    DATABASE["CONN_MAX_AGE"] = 0
DATABASES = {"default": DATABASE}
# How many of the chat's database calls run at a time.
DATABASE_THREADS = env.int("DATABASE_THREADS", 2, validate=rules.AT_LEAST_1)

# -- Parts that are in process unless their address is set --------------------------------------------------
REDIS_URL = env.str("REDIS_URL", "", validate=rules.REDIS_OR_EMPTY)
CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", "", validate=rules.BROKER_OR_EMPTY)
if REDIS_URL:
    CHANNEL_LAYERS: dict[str, Any] = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [REDIS_URL], "prefix": "pharmacy"},
        }
    }
    CACHES: dict[str, Any] = {
        "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}
    }
else:
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
            "LOCATION": "pharmacy",
            # The default of 300 would forget the counts of busy addresses.
            "OPTIONS": {"MAX_ENTRIES": 20_000},
        }
    }
# Empty: each process has an index of the knowledge base of its own, with Qdrant Edge; ":memory:": with qdrant-client.
QDRANT_URL = env.str("QDRANT_URL", "", validate=rules.QDRANT_OR_EMPTY).rstrip("/")
# Empty: the chat answers no general health questions.
KNOWLEDGE_ROLE = env.str("KNOWLEDGE_ROLE", "customer", validate=rules.KNOWLEDGE_ROLE_OR_EMPTY)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_TIME_LIMIT = 45
CELERY_TASK_SOFT_TIME_LIMIT = 30
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_timeout": 2, "socket_connect_timeout": 2}
CELERY_BEAT_SCHEDULE = {
    # Each expires when its successor comes: without a worker they would pile up in the broker.
    "notifications": {
        "task": "prescriptions.tasks.notifications_deliver",
        "schedule": 5.0,
        "options": {"expires": 5},
    },
    "refills": {
        "task": "prescriptions.refill.tasks.refills_sweep",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    "audit-anchor": {
        "task": "prescriptions.tasks.audit_anchor_write",
        "schedule": 300.0,
        "options": {"expires": 300},
    },
    "retention": {
        "task": "agent.tasks.retention_run",
        "schedule": 3_600.0,
        "options": {"expires": 3_600},
    },
    "handoffs": {
        "task": "prescriptions.handoffs.tasks.handoffs_sweep",
        "schedule": 15.0,
        "options": {"expires": 15},
    },
}
# Seconds between two looks of each web process for what beat and the workers have left: they may be down.
SWEEP_BESIDE_BEAT = 30
# Tests deliver in the transaction's thread, to see what was sent.
NOTIFICATIONS_INLINE = False
# Threads of one process that send at the same time.
NOTIFICATION_SENDERS = 4
# Seconds that one sending may take before its sender counts as lost; longer than the time-outs of its steps together.
NOTIFICATION_LEASES = {"email": 45, "webhook": 12}
# Seconds before the second attempt, doubled after each further one.
NOTIFICATION_BACK_OFF = 15

EMAIL: dict[str, Any] = dj_email_url.parse(env.str("EMAIL_URL", "console://", validate=rules.email_url))
EMAIL_BACKEND = EMAIL["EMAIL_BACKEND"]
EMAIL_FILE_PATH = EMAIL["EMAIL_FILE_PATH"]
EMAIL_HOST, EMAIL_PORT = EMAIL["EMAIL_HOST"] or "localhost", EMAIL["EMAIL_PORT"] or 25
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = EMAIL["EMAIL_HOST_USER"] or "", EMAIL["EMAIL_HOST_PASSWORD"] or ""
EMAIL_USE_TLS, EMAIL_USE_SSL = bool(EMAIL["EMAIL_USE_TLS"]), bool(EMAIL["EMAIL_USE_SSL"])
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", "pharmacy@example.com", validate=rules.sender)

# -- Languages and time -------------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("he", _("Hebrew"))]
MODELTRANSLATION_DEFAULT_LANGUAGE = "en"
MODELTRANSLATION_FALLBACK_LANGUAGES = {"default": ("en",), "en": ("en", "he")}
LOCALE_PATHS = [BASE_DIR / "locale"]
# For the language tabs of the admin; no CDN.
JQUERY_UI_URL = "vendor/jquery-ui.min.js"
USE_I18N = True
USE_TZ = True
TIME_ZONE = env.str("TIME_ZONE", "Asia/Jerusalem", validate=rules.time_zone)
PHONENUMBER_DEFAULT_REGION = "IL"

# -- Pages --------------------------------------------------------------------------------------------------
STATIC_URL = "/static/"
# Where `collectstatic` puts the files.
STATIC_ROOT = Path(env.str("STATIC_ROOT", str(VAR_DIR / "static"), validate=rules.NOT_EMPTY))
if not STATIC_ROOT.exists():
    STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # another process may start at the same moment
    # A proxy may serve it.
    STATIC_ROOT.chmod(0o755)
# Patients' data, keys, locks: whatever else is in there, nobody but the site's user reads it.
keep_private(VAR_DIR, besides=STATIC_ROOT)
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "pharmacy_site.static_files.PageFilesStorage"},
}
# Files that were not collected are served as well, as during development.
WHITENOISE_USE_FINDERS = True
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    }
}
UNFOLD: dict[str, Any] = {
    "SITE_TITLE": _("Pharmacy"),
    "SITE_HEADER": _("Pharmacy staff"),
    "SHOW_LANGUAGES": True,
    "SHOW_HISTORY": True,
    "ENVIRONMENT": "prescriptions.admin.notifications.delivery_state",
    "SIDEBAR": {"navigation": "prescriptions.admin.navigation.sidebar"},
    "STYLES": [lambda request: static("staff/staff.css")],
    "ACCOUNT": {
        "navigation": [{"title": _("Second factor"), "link": reverse_lazy("staff_factor_own")}],
    },
    "LOGIN": {"form": "pharmacy_site.staff.sign_in.SignInForm"},
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("site/favicon.svg")}
    ],
    "EXTENSIONS": {"modeltranslation": {"flags": {"en": "EN", "he": "HE"}}},
}
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# Customers may share their place with the chat; nothing else of the device is used.
PERMISSIONS_POLICY = ", ".join(
    [
        "geolocation=(self)",
        *(
            f"{feature}=()"
            for feature in (
                "accelerometer",
                "autoplay",
                "browsing-topics",
                "camera",
                "display-capture",
                "encrypted-media",
                "fullscreen",
                "gyroscope",
                "magnetometer",
                "microphone",
                "midi",
                "payment",
                "picture-in-picture",
                "publickey-credentials-get",
                "screen-wake-lock",
                "serial",
                "usb",
                "xr-spatial-tracking",
            )
        ),
    ]
)
SESSION_COOKIE_HTTPONLY = True
# Behind a proxy that ends TLS.
HTTPS = env.bool("HTTPS", False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
if HTTPS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "pharmacy_site.staff.passwords.GuessableValidator"},
]
AUTHENTICATION_BACKENDS = ["pharmacy_site.staff.sign_in.StaffBackend"]
# Without it staff reach only the page that sets it up.
SECOND_FACTOR_REQUIRED = not DEBUG
OTP_TOTP_ISSUER = "Pharmacy"
# Tries are limited by `pharmacy_site.staff.limits`, which tells how long to wait.
OTP_TOTP_THROTTLE_FACTOR = OTP_STATIC_THROTTLE_FACTOR = 0
# Seconds until the link by which staff choose a password is over.
PASSWORD_RESET_TIMEOUT = 24 * 60 * 60
# Seconds: without a sign of somebody, and since signing in.
STAFF_IDLE = 15 * 60
STAFF_SESSION = SESSION_COOKIE_AGE = 12 * 60 * 60

# -- HTTP API -----------------------------------------------------------------------------------------------
REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["agent.web.authentication.KeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["agent.web.authentication.HasScope"],
    "DEFAULT_THROTTLE_CLASSES": ["agent.web.authentication.KeyThrottle"],
    "DEFAULT_THROTTLE_RATES": {"key": env.str("API_RATE", "600/min", validate=rules.RATE)},
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.LimitOffsetPagination",
    "PAGE_SIZE": 50,
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Pharmacy tools",
    "DESCRIPTION": "The ten tools of the pharmacy assistant and its read resources.",
    "VERSION": "1.0.0",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SERVE_INCLUDE_SCHEMA": False,
}

# -- Pharmacy -----------------------------------------------------------------------------------------------
REFERENCE_BRANCH = env.int("REFERENCE_BRANCH", 101, validate=rules.AT_LEAST_1)
DEFAULT_STORE = env.int("DEFAULT_STORE", 1, validate=rules.AT_LEAST_1)
EMERGENCY_MEDICAL = env.str("EMERGENCY_MEDICAL", "101", validate=rules.TELEPHONE)
EMERGENCY_POISON = env.str("EMERGENCY_POISON", "", validate=rules.TELEPHONE_OR_EMPTY)
EMERGENCY_CRISIS = env.str("EMERGENCY_CRISIS", "1201", validate=rules.TELEPHONE)

# -- Identity of customers ----------------------------------------------------------------------------------
CHAT_IDENTITY = env.str("CHAT_IDENTITY", "otp", validate=rules.one_of("otp", "dob", "identifier"))
# Nothing but a terminal inside the pharmacy reaches this site.
CHAT_TERMINAL = env.bool("CHAT_TERMINAL", False)
IDENTITY_CODE_TTL = 300
IDENTITY_CODE_TRIES = 3
IDENTITY_CODES_PER_DAY = env.int("IDENTITY_CODES_PER_DAY", 5, validate=rules.AT_LEAST_1)
IDENTITY_CODES_PER_CONTACT_HOUR = env.int("IDENTITY_CODES_PER_CONTACT_HOUR", 5, validate=rules.AT_LEAST_1)
IDENTITY_CODES_PER_ADDRESS_HOUR = env.int("IDENTITY_CODES_PER_ADDRESS_HOUR", 30, validate=rules.AT_LEAST_1)
IDENTITY_GUESSES_PER_DAY = env.int("IDENTITY_GUESSES_PER_DAY", 15, validate=rules.AT_LEAST_1)
IDENTITY_IDLE = 15 * 60
IDENTITY_MAX = 60 * 60

# -- Refills ------------------------------------------------------------------------------------------------
# How much of the supply must be used before the next refill, in per cent.
REFILL_EARLY_PERCENT = env.int("REFILL_EARLY_PERCENT", 75, validate=rules.AT_LEAST_1)
REFILL_EARLY_PERCENT_CONTROLLED = env.int("REFILL_EARLY_PERCENT_CONTROLLED", 90, validate=rules.AT_LEAST_1)
# Seconds that packs stay reserved, and that the outcome of an order may be unknown before a person is asked.
REFILL_RESERVATION = 15 * 60
REFILL_ORDER_UNKNOWN = 10 * 60
# Seconds after the customer's last message until a request that is being collected pauses (S3), and days that it is kept.
REFILL_LIVE = 5 * 60
REFILL_PAUSED_DAYS = 14
# Seconds between two looks for refills that were left in the middle, in a process without Celery.
REFILL_SWEEP = 60
# Seconds for one call of the health record or the dispenser; the circuit breaker of each.
CONNECTOR_TIMEOUT = 2.0
CONNECTOR_FAILURES = 5
CONNECTOR_RECOVERY = 30.0
# The function that opens a model which looks for the person who decides (`prescriptions.refill.reasoning`), and the
# seconds that one request may wait for it.
REFILL_REASONER = "agent.llm.routing.reasoner_open"
REFILL_ROUTING_TIMEOUT = 8.0
# The function that reads a conversation for staff (`prescriptions.transcripts`).
CONVERSATION_READER = "agent.conversation.events.transcript_read"
# The function that masks who people are in it for staff who have not claimed the hand-off.
CONVERSATION_MASKER = "agent.turn.masked_transcript.transcript_masked"
# The functions that write what staff say to the customer, and that give the conversation back to the assistant.
CONVERSATION_WRITER = "agent.conversation.staff.staff_reply"
CONVERSATION_GIVER = "agent.conversation.staff.conversation_give_back"

# -- Hand-offs ----------------------------------------------------------------------------------------------
# Where links in e-mails to staff and customers lead; no slash at the end.
SITE_URL = env.str("SITE_URL", "http://127.0.0.1:8000", validate=rules.WEB_ADDRESS_OR_EMPTY).rstrip("/")
# Minutes until a hand-off is to be claimed, and to be decided; `usual` counts opening hours, and is to be decided by the
# end of the next working day.
HANDOFF_MINUTES: dict[str, tuple[int, int]] = {"urgent": (15, 60), "soon": (60, 240), "usual": (240, 0)}
# An address that hears of each hand-off by POST, and the key that signs what it is sent.
HANDOFF_WEBHOOK = env.str("HANDOFF_WEBHOOK", "", validate=rules.WEB_ADDRESS_OR_EMPTY)
HANDOFF_WEBHOOK_KEY = env.str("HANDOFF_WEBHOOK_KEY", "")
# Open ones of a conversation, and new ones of an address in an hour.
HANDOFFS_PER_CONVERSATION = env.int("HANDOFFS_PER_CONVERSATION", 3, validate=rules.AT_LEAST_1)
HANDOFFS_PER_CONTACT = env.int("HANDOFFS_PER_CONTACT", 3, validate=rules.AT_LEAST_1)
HANDOFFS_PER_ADDRESS = env.int("HANDOFFS_PER_ADDRESS", 30, validate=rules.AT_LEAST_1)
# Seconds until a customer who has not written again gets an e-mail that staff have replied.
REPLY_MAIL_DELAY = 60.0

# -- Audit log ------------------------------------------------------------------------------------------------
AUDIT_KEY_IS_SET = bool(env.str("AUDIT_KEY", ""))
# The key of new lines, and those that older lines were written with.
AUDIT_KEY = env.str("AUDIT_KEY", "") or _stored_secret("audit_key")
AUDIT_KEYS_OLD: list[str] = env.list("AUDIT_KEYS_OLD", [])
if AUDIT_KEY_IS_SET and (VAR_DIR / "audit_key").exists():
    AUDIT_KEYS_OLD.append((VAR_DIR / "audit_key").read_text())
# Where the head of the log is written every hour: a file, or an object store like s3://bucket/folder.
AUDIT_ANCHOR = env.str("AUDIT_ANCHOR", "", validate=rules.ANCHOR_OR_EMPTY)
# Seconds between two looks for whether an anchor is due.
AUDIT_ANCHOR_SWEEP = 300

# -- Chat ---------------------------------------------------------------------------------------------------
# The function that returns the model which drives the chat.
CHAT_MODEL = "agent.llm.chosen.configured"
# Besides the site's own.
CHAT_ALLOWED_ORIGINS: list[str] = env.list("CHAT_ALLOWED_ORIGINS", [], validate=rules.origins)
CHAT_FRAME_LIMIT = 16 * 1024
CHAT_TEXT_LIMIT = 4_000
CHAT_HELLO_TIMEOUT = env.int("CHAT_HELLO_TIMEOUT", 5, validate=rules.AT_LEAST_1)
CHAT_MESSAGES_PER_MINUTE = env.int("CHAT_MESSAGES_PER_MINUTE", 20, validate=rules.AT_LEAST_1)
CHAT_MESSAGES_PER_DAY = env.int("CHAT_MESSAGES_PER_DAY", 200, validate=rules.AT_LEAST_1)
# Of one socket; what it did not use in three seconds it may send at once.
CHAT_FRAMES_PER_SECOND = env.int("CHAT_FRAMES_PER_SECOND", 20, validate=rules.AT_LEAST_1)
# Of a network address, which the people of a whole network may share.
CHAT_CONVERSATIONS_PER_HOUR = env.int("CHAT_CONVERSATIONS_PER_HOUR", 1_000, validate=rules.AT_LEAST_1)
CHAT_SOCKETS_PER_MINUTE = env.int("CHAT_SOCKETS_PER_MINUTE", 200, validate=rules.AT_LEAST_1)
CHAT_SOCKETS_OPEN = env.int("CHAT_SOCKETS_OPEN", 50, validate=rules.AT_LEAST_1)
# Of one process.
CHAT_SOCKETS_TOTAL = env.int("CHAT_SOCKETS_TOTAL", 5_000, validate=rules.AT_LEAST_1)
# For a socket whose client sends nothing, not even a ping.
CHAT_IDLE_TIMEOUT = env.int("CHAT_IDLE_TIMEOUT", 300, validate=rules.AT_LEAST_1)
# Messages that may wait for a slow reader.
CHAT_QUEUE = 200
# Seconds until the run of a dead process is free.
CHAT_LEASE = 30
# Seconds between two looks for such runs.
CHAT_SWEEP = 5
# How many processes may die at one run.
CHAT_ATTEMPTS = 3
# Seconds for a whole answer.
CHAT_RUN_TIMEOUT = 60
# Seconds that a process which ends has to finish the answers it has begun.
CHAT_DRAIN = 30
CHAT_STEPS = 8
CHAT_CONFIRM_TTL = 300
CHAT_COMMENT_LIMIT = 1_000
CHAT_RETENTION_DAYS = env.int("CHAT_RETENTION_DAYS", 30, validate=rules.AT_LEAST_1)

# -- Retention: days after which what is over is deleted (`agent/retention.py`) --------------------------------
RETENTION_NOTIFICATIONS_DAYS = env.int("RETENTION_NOTIFICATIONS_DAYS", 30, validate=rules.AT_LEAST_1)
RETENTION_CHALLENGES_DAYS = env.int("RETENTION_CHALLENGES_DAYS", 7, validate=rules.AT_LEAST_1)
RETENTION_HANDOFFS_DAYS = env.int("RETENTION_HANDOFFS_DAYS", 365, validate=rules.AT_LEAST_1)
RETENTION_TOOL_CALLS_DAYS = env.int("RETENTION_TOOL_CALLS_DAYS", 30, validate=rules.AT_LEAST_1)
RETENTION_SESSIONS_DAYS = env.int("RETENTION_SESSIONS_DAYS", 1, validate=rules.AT_LEAST_1)
# Six years, and a day for each leap year among them; removed only by `manage.py apply_retention --audit`.
RETENTION_AUDIT_DAYS = env.int("RETENTION_AUDIT_DAYS", 2_192, validate=rules.AT_LEAST_1)

# -- Language model (any OpenAI-compatible server; none: the offline model) -----------------------------------
OPENAI_API_KEY = env.str("OPENAI_API_KEY", "")
OPENAI_BASE_URL = env.str("OPENAI_BASE_URL", "", validate=rules.WEB_ADDRESS_OR_EMPTY)
OPENAI_MODEL = env.str("OPENAI_MODEL", "gpt-4.1-mini", validate=rules.NOT_EMPTY)
# For the short decisions of the knowledge flow; empty: the same model.
OPENAI_FAST_MODEL = env.str("OPENAI_FAST_MODEL", "")
# For the search in the knowledge base; other servers than OpenAI's name their own model.
OPENAI_EMBEDDING_MODEL = env.str(
    "OPENAI_EMBEDDING_MODEL", "" if OPENAI_BASE_URL else "text-embedding-3-small"
)
OPENAI_FIRST_TOKEN_TIMEOUT = env.float(
    "OPENAI_FIRST_TOKEN_TIMEOUT", 10, validate=rules.seconds_below(CHAT_RUN_TIMEOUT)
)
OPENAI_TIMEOUT = env.float("OPENAI_TIMEOUT", 30, validate=rules.seconds_below(CHAT_RUN_TIMEOUT))
OPENAI_TOKENS_PER_CONVERSATION = env.int("OPENAI_TOKENS_PER_CONVERSATION", 300_000, validate=rules.AT_LEAST_1)
OPENAI_TOKENS_PER_DAY = env.int("OPENAI_TOKENS_PER_DAY", 10_000_000, validate=rules.AT_LEAST_1)
# US dollars per million tokens; a cost of 0 is no cap.
OPENAI_PRICE_IN = env.decimal("OPENAI_PRICE_IN", Decimal(0), validate=rules.AT_LEAST_0)
OPENAI_PRICE_OUT = env.decimal("OPENAI_PRICE_OUT", Decimal(0), validate=rules.AT_LEAST_0)
OPENAI_COST_PER_DAY = env.decimal("OPENAI_COST_PER_DAY", Decimal(0), validate=rules.AT_LEAST_0)

# -- Metrics ------------------------------------------------------------------------------------------------
# Who sends it may read the figures; empty: nobody may.
METRICS_KEY = env.str("METRICS_KEY", "", validate=rules.KEY_OR_EMPTY)

# -- Logs: ids and codes only, never what a person wrote or who they are ------------------------------------
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "pharmacy_site.lib.logs.Line",
            "fmt": "{asctime} {levelname} {name} {message}",
            "style": "{",
            "tracebacks": DEBUG,
        }
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", "INFO", validate=rules.LOG_LEVEL)},
    "loggers": {
        "daphne": {"level": "WARNING"},
        "channels_redis": {"level": "CRITICAL"},  # a Redis that is down is logged once, by the bell
        "django.channels.server": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
    },
}
