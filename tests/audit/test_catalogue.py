"""Files of checks: what is whole is read, what is not is named with file, line and check."""

import pytest

from kgrag import queries
from kgrag.audit.check_runner import compiled
from kgrag.audit.checks import check_named, load_catalogue, load_checks, shipped
from kgrag.audit.steps import STEPS
from kgrag.errors import InvalidRDF, UnknownName
from tests.audit.conftest import CHECK, HEAD


def test_a_check_is_read_with_all_that_it_says(write) -> None:
    (check,) = load_catalogue([write(CHECK)]).checks
    assert (check.identifier, check.label, check.severity, check.family) == (
        "OWN-01", "Class without a note", "Warning", "own",
    )  # fmt: skip
    assert check.shapes == ("https://w3id.org/kgrag/audit#OWN-01-shape",)


BROKEN = {
    "no Turtle": (("aud:rationale", "aud:rationale aud:rationale"), r"o\.ttl, line \d+: "),
    "no rationale": (('aud:rationale "Notes help."@en ;', ""), "0 values of aud:rationale"),
    "two labels": (("rdfs:label", 'rdfs:label "x"@en ; rdfs:label'), "2 values of rdfs:label"),
    "another identifier": (('"OWN-01"', '"OWN-02"'), "should be its local name"),
    "a severity that is none": (("sh:Warning", "sh:Bad"), "severity 'Bad'"),
    "nothing that decides it": (("aud:shape aud:OWN-01-shape", 'aud:anchor "x:y"'), "should be decided by"),
    "two things that decide it": (("aud:shape", 'aud:query "audit/x" ; aud:shape'), "should be decided by"),
    "a shape that is not there": (("aud:OWN-01-shape ;", "ex:nowhere ;"), "of which the file says nothing"),
    "no violating example": (("aud:violating", "rdfs:comment"), "OWN-01 has no aud:violating; its examples are its"),
    "no conforming example": (("aud:conforming", "rdfs:comment"), "OWN-01 has no aud:conforming; its examples are"),
    "a property that is none": (
        ("aud:violating", "aud:violatin"),
        "line 13: there is no term aud:violatin. Did you mean 'violating'",
    ),
    "a target that is none": (("aud:LiveClass", "aud:LiveClas"), "no term aud:LiveClas. Did you mean 'LiveClass'"),
}


@pytest.mark.parametrize(("change", "told"), BROKEN.values(), ids=BROKEN)
def test_a_check_that_is_not_whole_is_refused(write, change: tuple[str, str], told: str) -> None:
    with pytest.raises(InvalidRDF, match=told) as error:
        load_catalogue([write(CHECK.replace(*change, 1))])
    assert "o.ttl, line" in str(error.value)


def test_two_checks_of_one_name_are_refused(write) -> None:
    first, second = write(CHECK, "a.ttl"), write(CHECK, "b.ttl")
    with pytest.raises(InvalidRDF) as error:
        load_catalogue([first, second])
    assert str(error.value).startswith(f"{second}, line ")
    assert f"check OWN-01 is a check in {first} as well" in str(error.value)


def test_a_term_of_the_audit_namespace_that_another_file_of_the_catalogue_describes_is_known(write) -> None:
    prefixes = write(HEAD + "aud:ourPrefixes sh:declare [] .", "a.ttl")
    shape = CHECK.replace("sh:targetClass", "sh:prefixes aud:ourPrefixes ; sh:targetClass")
    assert len(load_catalogue([write(shape, "b.ttl"), prefixes]).checks) == 1


def test_the_checks_come_in_the_order_of_their_names() -> None:
    names = [check.identifier for check in load_checks()]
    assert names == sorted(names)
    assert len(names) > 80


def test_a_check_is_found_in_whatever_case_and_the_nearest_is_offered() -> None:
    assert check_named("ann-01").identifier == "ANN-01"
    with pytest.raises(UnknownName, match="Did you mean 'MET-0"):
        check_named("METT-01")


def test_every_shape_that_ships_runs_on_the_engine() -> None:
    assert dict(compiled(shipped().files).elsewhere) == {}


def test_every_stored_query_and_update_that_a_check_names_is_there() -> None:
    named = {name for check in load_checks() for name in (check.query, check.fix) if name}
    assert named - set(queries.names()) == set()


def test_every_step_that_a_check_names_is_known() -> None:
    assert {check.step for check in load_checks() if check.step} - STEPS.keys() == set()
