"""Importing towns: what a file may look like, and what a broken one changes (nothing)."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from real_data import FOLDER, WHY

from pharmacy_site.lib.importing import ImportRefused
from stores.importer import localities_import
from stores.models import Locality, LocalityName
from stores.places import UnservedPlace, place_find

pytestmark = pytest.mark.django_db
REAL = FOLDER / "localities_il.json.gz"
AFULA = {"id": "7700", "name": "עפולה", "nameEn": "AFULA", "lat": 32.6, "lon": 35.29}
LOD = {"id": "7000", "name": "לוד", "nameEn": "LOD", "lat": 31.95, "lon": 34.89}


def written(path: Path, rows: Any) -> Path:
    path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    return path


def rows_of_tables() -> tuple[list[Any], list[Any]]:
    names = LocalityName.objects.order_by("locality__slug", "folded")
    return (
        list(Locality.objects.order_by("slug").values_list("slug", "name_en", "name_he", "lat", "lng")),
        list(names.values_list("locality__slug", "text", "folded", "derived")),
    )


def test_a_json_file_creates_towns_with_their_names(tmp_path: Path) -> None:
    report = localities_import(written(tmp_path / "a.json", [AFULA, LOD]))
    assert (report.created, report.changed, report.unchanged) == (2, 0, 0)
    town = Locality.objects.get(slug="import-il-7700")
    assert (town.name_en, town.name_he, town.is_prominent) == ("Afula", "עפולה", False)
    for query in ("עפולה", "בעפולה", "afula"):
        place = place_find(query)
        assert isinstance(place, UnservedPlace)
        assert place.locality == town


def test_importing_the_same_file_again_changes_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", [AFULA, LOD])
    localities_import(path)
    before = rows_of_tables()
    report = localities_import(path)
    assert (report.created, report.changed, report.unchanged) == (0, 0, 2)
    assert rows_of_tables() == before


def test_a_corrected_file_updates_the_towns(tmp_path: Path) -> None:
    localities_import(written(tmp_path / "a.json", [AFULA, LOD]))
    report = localities_import(written(tmp_path / "b.json", [{**AFULA, "name": "עפולה עילית"}, LOD]))
    assert (report.created, report.changed, report.unchanged) == (0, 1, 1)
    assert set(
        LocalityName.objects.filter(locality__slug="import-il-7700").values_list("text", flat=True)
    ) == {
        "Afula",
        "עפולה עילית",
    }


def test_a_town_that_exists_already_only_gets_more_names(tmp_path: Path) -> None:
    own = Locality.objects.create(slug="afula", name_en="Afula", name_he="עפולה", lat=32.61, lng=35.29)
    far = Locality.objects.create(slug="lod-elsewhere", name_en="Lod", lat=50.0, lng=10.0)
    path = written(tmp_path / "a.json", [{**AFULA, "aliases": ["Affula"]}, LOD])
    report = localities_import(path)
    assert (report.created, report.merged) == (1, 1)
    assert Locality.objects.filter(name_en="Lod").count() == 2
    assert far.names.count() == 1
    assert set(own.names.values_list("folded", flat=True)) == {"afula", "affula", "עפולה"}
    before = rows_of_tables()
    localities_import(path)
    assert rows_of_tables() == before


def test_a_gzipped_csv_file_creates_towns_with_their_aliases(tmp_path: Path) -> None:
    text = "id,name,nameEn,lat,lon,aliases\r\n7700,עפולה,AFULA,32.6,35.29,Affula|Afule\r\n"
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode("utf-8-sig")))
    assert localities_import(tmp_path / "a.csv.gz").created == 1
    assert LocalityName.objects.count() == 4


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({**LOD, "lat": "north"}, "record 2: lat is missing or no number"),
        ({**LOD, "lat": None}, "record 2: lat is missing or no number"),
        ({**LOD, "lat": True}, "record 2: lat is missing or no number"),
        ({**LOD, "lat": 91}, "record 2: lat is not between -90 and 90"),
        ({**LOD, "lon": float("nan")}, "record 2: lon is not between -180 and 180"),
        ({**LOD, "name": "", "nameEn": " "}, "record 2: has no name"),
        ({**LOD, "name": ["x"]}, "record 2: name is no text"),
        ({**LOD, "name": "x" * 1000}, "record 2: name is too long"),
        ({**LOD, "id": ""}, "record 2: id is missing"),
        ({**LOD, "id": "7700"}, "record 2: this id was used before"),
        ({**LOD, "country": "Israel"}, "record 2: country is not two letters"),
        ({**LOD, "aliases": "x"}, "record 2: aliases are no list of texts"),
        ("Lod", "record 2: is no record"),
    ],
)
def test_a_broken_record_changes_nothing_and_is_reported(tmp_path: Path, row: Any, reason: str) -> None:
    path = written(tmp_path / "a.json", [AFULA, row])
    with pytest.raises(ImportRefused) as refused:
        localities_import(path)
    assert refused.value.problems[0].startswith(reason)
    assert not Locality.objects.exists()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[{", "line 1"),
        (b'[\n{"id": 1,\n', "line 3"),
        (b"{}", "line 1: a list"),
        (b"[]", "the file has no localities"),
        (b"", "line 1: columns are missing"),
        (b"id,name\n1,x\n", "line 1: columns are missing: lat, lon, nameEn"),
        (b"id,name,nameEn,lat,lon\n1,x,y,1,2,3,4\n", "line 2: has other columns"),
        (b"id,name,nameEn,lat,lon\n1,x\n", "line 2: has other columns"),
        (b'id,name,nameEn,lat,lon\n1,"x\n', "line 2"),
        (b"[\n\xff]", "line 2: not UTF-8"),
        (b"\x1f\x8b rubbish", "a.json"),
        (b"[" * 100_000, "nested too deep"),
    ],
)
def test_a_broken_file_is_refused_with_a_readable_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(ImportRefused) as refused:
        localities_import(tmp_path / "a.json")
    assert refused.value.problems[0].startswith(reason)


def test_only_the_first_problems_are_listed(tmp_path: Path) -> None:
    with pytest.raises(ImportRefused) as refused:
        localities_import(written(tmp_path / "a.json", [{}] * 50))
    assert len(refused.value.problems) == 10
    assert str(refused.value).endswith("… and more")


def test_the_command_prints_the_report_or_the_problems(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "a.json", [AFULA])
    call_command("import_localities", path, "--dry-run")
    assert "Dry run, nothing was changed: 1 created" in capsys.readouterr().out
    assert not Locality.objects.exists()
    call_command("import_localities", path)
    assert "1 created" in capsys.readouterr().out
    assert Locality.objects.count() == 1
    with pytest.raises(CommandError, match="Nothing was changed"):
        call_command("import_localities", tmp_path / "absent.json")


@pytest.mark.skipif(not REAL.exists(), reason=WHY)
def test_the_real_file_can_be_imported(settings: Any) -> None:
    import stores.demo

    stores.demo.load(Path(settings.BASE_DIR) / "fixtures")
    known = Locality.objects.count()
    report = localities_import(REAL)
    assert report.created + report.merged == 1264
    assert report.merged > 80
    assert Locality.objects.count() == known + report.created
    before = rows_of_tables()
    assert localities_import(REAL).created == 0
    assert rows_of_tables() == before
    # The city is still the one with the branches, and Jaffa is still Jaffa.
    for query, kind in (
        ("תל אביב-יפו", "CityPlace"),
        ("Tel Aviv - Yafo", "CityPlace"),
        ("יפו", "StorePlace"),
    ):
        assert type(place_find(query)).__name__ == kind
