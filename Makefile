# Commands for newcomers and for CI. Only Python is needed; `make run` and `make test` set up the rest.
PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
export DEBUG ?= 1
# A run of the tests starts a hundred processes; none should compile the sources again.
unexport PYTHONDONTWRITEBYTECODE

LOCK := uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes --custom-compile-command "make lock"

.PHONY: run test test-faults lint bench bench-data format lock sbom messages clean

# uv installs what is locked in seconds, for which pip takes two minutes. Where there is no uv, or it fails, pip does it.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes
install = $(PIP) --only-binary :all: -r installer.lock \
	&& $(UV) $${PIP_INDEX_URL:+--default-index "$$PIP_INDEX_URL"} -r $(1) || $(PIP) -r $(1)

.venv/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@touch $@

.venv/run: requirements.lock installer.lock | .venv/made
	@$(call install,requirements.lock)
	@touch $@

.venv/test: tests/requirements.lock .venv/run
	@$(call install,tests/requirements.lock)
	@touch $@

run: .venv/run
	@exec $(BIN)/python manage.py start --port $(PORT)

# One worker more than cores, as many tests wait for a browser, another process or a clock; with two a core each test needs more of
# the processor (docs/performance.md). Redis has databases for eight.
# The tests of a file stay together, so that the site which they share starts once; tests/conftest.py orders the files.
test: .venv/test
	$(BIN)/python -m pytest -n $$($(BIN)/python -c 'import os; print(min(os.cpu_count() + 1, 8))') --dist loadfile --no-loadscope-reorder

# The long versions of the tests that kill processes, lose answers, play random events and guess at identities: about 25
# minutes on 2 idle cores.
# All of it needs PostgreSQL (DATABASE_URL), Redis and RabbitMQ; what needs several processes is skipped on SQLite.
test-faults: .venv/test
	CI=1 FAULTS_EXAMPLES=300 $(BIN)/python -m pytest tests/prescriptions/test_refill_*.py tests/services/test_refill_*.py \
		tests/services/test_handoff_*.py tests/agent/test_guessing.py

lint: .venv/test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy .
	$(BIN)/lint-imports --no-logo
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py write_contracts --check
	$(BIN)/python manage.py write_refill_diagram --check
	$(BIN)/python manage.py check_translations

format: .venv/test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/test
	$(BIN)/python benchmarks/run.py

bench-data: .venv/test
	$(BIN)/python benchmarks/run.py --data-only

# After a change of a requirements.txt. Every file that the index has of a version is listed, for all systems and Pythons.
lock: .venv/test
	$(BIN)/$(LOCK) installer.txt --output-file installer.lock
	$(BIN)/$(LOCK) requirements.txt --output-file requirements.lock
	$(BIN)/$(LOCK) tests/requirements.txt --constraint requirements.lock --output-file tests/requirements.lock

# What the site is made of, for scanners: from the lock file alone, which does not say who needs whom (it would warn of that).
# Like all in var, it is for its owner only.
sbom: .venv/test
	umask 077; mkdir -p var; PYTHONWARNINGS=ignore $(BIN)/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml --output-reproducible \
		--of JSON --output-file var/sbom.cdx.json
	@echo var/sbom.cdx.json

# Needs GNU gettext (Debian: apt-get install gettext; macOS: brew install gettext); nothing else here does.
messages: .venv/run
	@command -v msgfmt >/dev/null || { echo "make messages needs GNU gettext: apt-get install gettext"; exit 1; }
	$(BIN)/python manage.py makemessages --locale he --ignore .venv --ignore var --ignore tests --no-obsolete --add-location file
	$(BIN)/python manage.py compilemessages --locale he --ignore .venv

clean:
	rm -rf .venv var staticfiles .mypy_cache .ruff_cache .pytest_cache
