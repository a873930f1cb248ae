# Commands for newcomers and for CI. Only Python is needed; `make run` and `make test` set up the rest.
PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
export DEBUG ?= 1

.PHONY: run test lint bench bench-data format messages clean

.venv/run: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

.venv/test: tests/requirements.txt .venv/run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	@touch $@

run: .venv/run
	@$(BIN)/python manage.py migrate --verbosity 0
	@$(BIN)/python manage.py load_demo --if-empty --port $(PORT)
	@$(BIN)/python manage.py welcome --port $(PORT)
	@exec $(BIN)/python manage.py serve --port $(PORT)

test: .venv/test
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: .venv/test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy .
	$(BIN)/lint-imports --no-logo
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py write_contracts --check
	$(BIN)/python manage.py check_translations

format: .venv/test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/test
	$(BIN)/python benchmarks/run.py

bench-data: .venv/test
	$(BIN)/python benchmarks/run.py --data-only

# Needs GNU gettext (Debian: apt-get install gettext; macOS: brew install gettext); nothing else here does.
messages: .venv/run
	@command -v msgfmt >/dev/null || { echo "make messages needs GNU gettext: apt-get install gettext"; exit 1; }
	$(BIN)/python manage.py makemessages --locale he --ignore .venv --ignore var --ignore tests --no-obsolete --add-location file
	$(BIN)/python manage.py compilemessages --locale he --ignore .venv

clean:
	rm -rf .venv var staticfiles .mypy_cache .ruff_cache .pytest_cache
