"""Profiles: which checks run and how bad their findings are."""

import pytest

from kgrag.audit import check_named, load_profile, profile_names
from kgrag.errors import InvalidSettings, UnknownName
from tests.audit.conftest import CHECK, FLAWED


def test_eight_profiles_ship() -> None:
    assert profile_names() == ["default", "fair", "kg", "light", "obo", "owl-dl", "publish", "skos"]


def test_a_label_is_asked_for_more_strictly_before_publishing() -> None:
    check = check_named("ANN-01")
    assert (load_profile("default").severity(check), load_profile("publish").severity(check)) == (
        "Warning",
        "Violation",
    )


def test_a_family_that_a_profile_leaves_out_is_not_run() -> None:
    assert load_profile("kg").severity(check_named("ANN-01")) == "Off"


def test_a_profile_that_is_none_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'publish'"):
        load_profile("publsh")


def test_a_family_or_a_check_that_is_none_is_refused_with_the_nearest(write, audited) -> None:
    write(CHECK, "own.ttl")
    own = 'shapes = ["own.ttl"]\nfamilies = '
    with pytest.raises(UnknownName, match=r"profile 'p': there is no family 'anno'. Did you mean 'ann'\? Known: ann, "):
        audited(FLAWED, profile=str(write(f'{own}["own", "anno"]', "p.toml")))
    with pytest.raises(UnknownName, match=r"there is no check 'OWN-1'. Did you mean 'OWN-01'\? Known: ANN-01, "):
        audited(FLAWED, profile=str(write(f'{own}["own"]\n[severities]\n"OWN-1" = "Info"', "p.toml")))


def test_a_file_changes_severities_and_adds_checks(write, audited) -> None:
    write(CHECK, "own.ttl")
    path = write(
        'extends = "publish"\nshapes = ["own.ttl"]\nfamilies = ["own"]\n[severities]\n"ANN-01" = "Info"\n', "p.toml"
    )
    found = audited(FLAWED, profile=str(path))
    assert found.totals == {"ANN-01": 2, "OWN-01": 3}
    assert (found.profile, {f.severity for f in found.findings if f.check == "ANN-01"}) == ("p", {"Info"})


def test_a_shape_without_a_check_speaks_for_itself(write, audited) -> None:
    shape = CHECK[: CHECK.index("aud:OWN-01 a")] + CHECK[CHECK.index("aud:OWN-01-shape a") :]
    write(shape.replace("sh:minCount", "sh:severity sh:Info ; sh:minCount"), "own.ttl")
    found = audited(FLAWED, profile=str(write('shapes = ["own.ttl"]\nfamilies = []\n', "p.toml")))
    assert {(f.check, f.severity) for f in found.findings} == {("OWN-01-shape", "Info")}


def test_a_severity_of_a_users_own_counts_as_a_violation_and_is_named(write, audited) -> None:
    shape = CHECK[: CHECK.index("aud:OWN-01 a")] + CHECK[CHECK.index("aud:OWN-01-shape a") :]
    write(shape.replace("sh:minCount", "sh:severity ex:Blocker ; sh:minCount"), "own.ttl")
    found = audited(FLAWED, profile=str(write('shapes = ["own.ttl"]\nfamilies = []\n', "p.toml")))
    blocker = "https://example.org/o#Blocker"
    assert {(f.severity, f.stated_severity) for f in found.findings} == {("Violation", blocker)}
    assert found.counts["Violation"] == 3
    assert found.to_json()["findings"][0]["stated_severity"] == blocker


def test_a_shape_beyond_the_engine_is_decided_by_pyshacl_and_named(write, audited) -> None:
    select = 'sh:sparql [ sh:message "odd" ; sh:select "SELECT $this WHERE { $this ?p ?o } LIMIT 1" ] .'
    head = CHECK[: CHECK.index("aud:OWN-01 a")]
    write(f"{head} aud:Odd a sh:NodeShape ; sh:targetClass aud:LiveClass ; {select}", "own.ttl")
    found = audited(FLAWED, profile=str(write('shapes = ["own.ttl"]\nfamilies = []\n', "p.toml")))
    assert found.totals == {"Odd": 3}
    assert found.engine.endswith("by pyshacl: https://w3id.org/kgrag/audit#Odd")


BYTES = """
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
aud:Byte a sh:NodeShape ; sh:targetSubjectsOf ex:size ; sh:property [ sh:path ex:size ; sh:datatype xsd:byte ] .
"""
SIZES = (
    FLAWED
    + """
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
ex:Rye ex:size "5"^^xsd:byte , 6 , "300"^^xsd:byte , "c"^^xsd:byte .
"""
)


def test_a_datatype_is_judged_as_it_stands_in_the_file(write, audited) -> None:
    write(CHECK[: CHECK.index("aud:OWN-01 a")] + BYTES, "own.ttl")
    found = audited(SIZES, profile=str(write('shapes = ["own.ttl"]\nfamilies = []\n', "p.toml")))
    assert [f.value for f in found.findings] == ["300", "6", "c"]


def test_a_shape_beyond_the_engine_sees_literals_as_they_stand_in_the_file(write, audited) -> None:
    select = 'sh:sparql [ sh:select "SELECT $this WHERE { $this ?p ?o } LIMIT 0" ] .'
    write(CHECK[: CHECK.index("aud:OWN-01 a")] + BYTES + f"aud:Byte {select}", "own.ttl")
    found = audited(SIZES, profile=str(write('shapes = ["own.ttl"]\nfamilies = []\n', "p.toml")))
    assert [f.value for f in found.findings] == ["300", "6", "c"]
    assert "by pyshacl" in found.engine


def test_a_datatype_is_judged_as_it_was_loaded_and_an_integer_of_the_range_passes(write, kb) -> None:
    write(CHECK[: CHECK.index("aud:OWN-01 a")] + BYTES.replace("xsd:byte", "xsd:integer"), "own.ttl")
    kb.load(write(SIZES))
    found = kb.audit(profile=str(write('shapes = ["own.ttl"]\nfamilies = []\n', "p.toml")))
    assert [f.value for f in found.findings] == ["300", "5", "c"]


FAULTS = {
    "no TOML": ("a b", "p.toml: "),
    "an unknown key": ('extend = "x"', "'extend' is no key"),
    "a value of another type": ('families = "met"', "'families' is a str"),
    "a severity that is none": ('[severities]\n"ANN-01" = "Bad"', "ANN-01 has the severity 'Bad'"),
}


@pytest.mark.parametrize(("text", "told"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_file_is_refused(write, text: str, told: str) -> None:
    with pytest.raises(InvalidSettings, match=told):
        load_profile(str(write(text, "p.toml")))
