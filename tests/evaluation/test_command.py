"""`manage.py evaluate`: its last line, its files, and the page that staff read it on."""

import ast
import json
import re
import subprocess
import sys
import threading
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command
from django.test import Client
from served_site import ROOT
from trial_rows import row

from agent.models import Conversation
from evaluation.metrics import summary
from evaluation.models import Evaluation, EvaluationTrial
from evaluation.outcome import TrialRow
from evaluation.run import Job, Worker, evaluation_run
from evaluation.scenario import scenario_get

pytestmark = pytest.mark.proof

NAMES = ["en-t-greeting", "he-s-emergency-medical", "en-c-injection"]


def evaluate(*arguments: str) -> list[str]:
    out = StringIO()
    chosen = [part for name in NAMES for part in ("--scenario", name)]
    call_command("evaluate", "pharmacy", "--workers", "1", *chosen, *arguments, stdout=out)
    return out.getvalue().splitlines()


def staff(role: str) -> Client:
    user = get_user_model().objects.create_user(f"a-{role}", password="x", is_staff=True)
    user.groups.add(Group.objects.get(name=role))
    client = Client()
    client.force_login(user)
    return client


def test_a_run_is_printed_written_compared_and_stored(
    db: None, tmp_path: Path, template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluation.run.template_make", lambda _folder: template)
    file = tmp_path / "run.json"
    lines = evaluate("--trials", "4", "--json", str(file))
    assert lines[-1] == "pass^1=1.00 pass^4=1.00 scenarios=3"
    document = json.loads(file.read_text(encoding="utf-8"))
    assert len(document["trials"]) == 12
    assert document["totals"]["languages"]["he"]["scenarios"] == 1
    kept = Evaluation.objects.get()
    assert kept.totals["all"]["pass^4"] == 1 and kept.trials.count() == 12
    assert kept.trials.filter(language="he", family="emergency", score=1).count() == 4
    assert not Conversation.objects.exists()  # nothing was said in this installation's database
    # Every trial began with a fresh database at the same noon: what was said is the same word for word.
    said = {json.dumps(trial.transcript, sort_keys=True) for trial in kept.trials.filter(scenario=NAMES[0])}
    assert len(said) == 1

    [first, *_] = document["trials"]
    for trial in document["trials"]:
        trial["passed"] = trial["passed"] and trial["scenario"] != first["scenario"]
    file.write_text(json.dumps(document), encoding="utf-8")
    lines = evaluate("--trials", "1", "--compare", str(file))
    assert any(re.fullmatch(rf"{first['scenario']}: 0\.00 -> 1\.00", line) for line in lines)
    assert lines[-1] == "pass^1=1.00 pass^4=n/a scenarios=3"


def test_impossible_options_are_refused(db: None) -> None:
    with pytest.raises(CommandError, match="language"):
        evaluate("--lang", "fr")
    with pytest.raises(CommandError, match="trials"):
        evaluate("--trials", "0")


def test_without_the_development_packages_the_command_says_what_to_install(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "time_machine", None)
    with pytest.raises(CommandError, match=r"time-machine is not installed.*tests/requirements\.txt"):
        evaluate()


@pytest.mark.parametrize("command", ["check", "help"])
def test_other_commands_load_nothing_that_plays(command: str) -> None:
    code = (
        "import sys; from django.core.management import execute_from_command_line as run; "
        f"run(['manage.py', '{command}']); "
        "print(sorted(name for name in sys.modules if name.startswith(('evaluation.', 'time_machine'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(ast.literal_eval(done.stdout.splitlines()[-1]))
    assert loaded & {"evaluation.admin", "evaluation.models"}
    assert not loaded & {"evaluation.run", "evaluation.trial", "evaluation.scenario", "time_machine"}


@pytest.mark.parametrize("when", ["before the job", "in the trial"])
def test_a_worker_that_dies_twice_in_a_trial_fails_only_that_trial(
    when: str, monkeypatch: pytest.MonkeyPatch, template: Path
) -> None:
    play = Worker.play

    def killed(self: Worker, job: Job) -> TrialRow:
        if job["scenario"] == NAMES[1]:
            if when == "before the job":
                self.process.kill()
                self.process.wait()
            else:
                threading.Timer(0.01, self.process.kill).start()
        return play(self, job)

    monkeypatch.setattr(Worker, "play", killed)
    scenarios = [scenario_get(name) for name in NAMES]
    rows = evaluation_run(scenarios, model="offline", trials=1, workers=1, template=template)
    assert {row["scenario"]: row["passed"] for row in rows} == dict(
        zip(NAMES, [True, False, True], strict=True)
    )
    assert rows[1]["problems"][0].startswith("the worker died")


@pytest.fixture
def trial(db: None) -> EvaluationTrial:
    totals = summary([row("en-good", 1, True), row("he-bad", 1, False)])
    evaluation = Evaluation.objects.create(model="offline", totals=totals)
    rest = {"evaluation": evaluation, "trial": 1, "turns": 1}
    EvaluationTrial.objects.create(scenario="en-good", family="stock", language="en", score=1, **rest)
    said = [
        {"type": "message.completed", "role": "user", "text": "<b>יש אקמול?</b>", "lang": "he", "calls": []},
        {"type": "message.completed", "role": "assistant", "text": "יש.", "lang": "he", "calls": []},
    ]
    return EvaluationTrial.objects.create(
        scenario="he-bad",
        family="advice",
        language="he",
        score=0,
        vetoes=["advice: x"],
        transcript=said,
        **rest,
    )


@pytest.mark.parametrize("role", ["pharmacist", "auditor"])
def test_transcripts_are_shown_in_the_direction_of_their_language(trial: EvaluationTrial, role: str) -> None:
    client = staff(role)
    page = client.get(f"/admin/evaluation/evaluationtrial/{trial.pk}/change/").content.decode()
    assert 'lang="he" dir="rtl"' in page and "advice: x" in page
    assert "<b>יש" not in page and "&lt;b&gt;יש" in page
    listed = client.get("/admin/evaluation/evaluationtrial/?result=vetoed&language=he&q=bad").content.decode()
    assert "he-bad" in listed and "en-good" not in listed
    assert "en-good" in client.get("/admin/evaluation/evaluationtrial/?result=passed").content.decode()
    assert client.get(f"/admin/evaluation/evaluation/{trial.evaluation_id}/change/").status_code == 200
    assert "0.50" in client.get("/admin/evaluation/evaluation/").content.decode()
    assert (
        client.post(f"/admin/evaluation/evaluationtrial/{trial.pk}/change/", {"score": 1}).status_code == 403
    )


@pytest.mark.parametrize("role", ["technician", "administrator"])
def test_groups_without_conversations_see_no_trials(trial: EvaluationTrial, role: str) -> None:
    client = staff(role)
    assert client.get("/admin/evaluation/evaluationtrial/").status_code == 403
    assert client.get(f"/admin/evaluation/evaluation/{trial.evaluation_id}/change/").status_code == 403
