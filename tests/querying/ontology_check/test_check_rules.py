"""Every rule has cases that violate it and cases that conform."""

import pyoxigraph as ox
import pytest

from kgrag.querying.ontology_check import mend
from kgrag.querying.ontology_check.check_rules import shipped_rules
from kgrag.sparql.query_reader import read
from tests.querying.ontology_check.checks import BEFORE, DATA, checked, index, rules, store, triples

NEEDED = {"rdfs": "http://www.w3.org/2000/01/rdf-schema#"}

VIOLATING = {
    "domain": ["SELECT ?n { ?s a :Agent ; :policyNumber ?n }", "SELECT ?n { ?s a :Broker ; :policyNumber ?n }"],
    "range": ["SELECT ?n { ?p :soldByAgent ?a ; :policyNumber ?n . ?a a :Claim }"],
    "double-domain": ["SELECT ?n { ?s :opened ?d ; :policyNumber ?n }"],
    "double-range": ["SELECT ?n { ?c :against ?x . ?d :hasPolicy ?x ; rdfs:label ?n }"],
    "domain-range": [
        "SELECT ?n { ?c :against ?x . ?x :policyNumber ?n }",
        "SELECT ?n { ?c :against/:policyNumber ?n }",
    ],
    "incorrect-property": [
        "SELECT ?n { ?p :number ?n }",
        "SELECT ?n { ?p rdfs:lable ?n }",
        "SELECT ?n { ?p :policyNumber|:number ?n }",
        "SELECT ?n { ?p :number* ?n }",
    ],
    "undefined-class": ["SELECT ?n { ?p a :Contract ; rdfs:label ?n }"],
    "property-as-class": ["SELECT ?n { ?p a :policyNumber ; rdfs:label ?n }"],
    "class-as-property": ["SELECT ?n { ?p :Agent ?a . ?a :agentId ?n }"],
    "object-kind": [
        'SELECT ?n { ?p :soldByAgent "Bob" ; :policyNumber ?n }',
        "SELECT ?n { ?p :policyNumber :seven . ?p rdfs:label ?n }",
        "SELECT ?n { ?p :policyNumber ?x . ?x rdfs:label ?n }",
    ],
    "unbound-variable": [
        "SELECT ?m { ?p :policyNumber ?n }",
        "SELECT ?n { ?p :policyNumber ?n FILTER(?m > 3) }",
        "SELECT ?n { ?p :policyNumber ?n } ORDER BY ?m",
        "SELECT ?n { ?p :policyNumber ?n MINUS { ?p rdfs:label ?l } FILTER(?l != 'x') }",
    ],
    "type-conflict": ["SELECT ?n { ?p a :Policy , :Broker ; rdfs:label ?n }"],
    "literal-datatype": [
        "SELECT ?d { ?c :opened ?d FILTER(?d > 2020) }",
        "SELECT ?d { ?c :opened ?d FILTER('x' = ?d) }",
    ],
    "disconnected": [
        "SELECT ?n ?d { ?p :policyNumber ?n . ?c :opened ?d }",
        "SELECT ?n ?d { ?p a :Policy ; :policyNumber ?n . ?q a :Policy ; :reviewedBy ?d }",
        "SELECT ?n ?d { ?p :policyNumber ?n . ?c :opened ?d FILTER(?n = '7' && ?d > '2020-01-01'^^xsd:date) }",
        "SELECT ?n ?d { ?p :policyNumber ?n . ?c :opened ?d OPTIONAL { ?c :reviewedBy ?p } }",
        "SELECT ?n ?d { { ?p :policyNumber ?n . ?c :opened ?d } UNION { ?p rdfs:label ?n } }",
        "SELECT ?n { ?p :soldByAgent ?a OPTIONAL { ?p :policyNumber ?n . ?c :opened ?d } }",
        "SELECT ?k { { SELECT (COUNT(?p) AS ?k) { ?p :policyNumber ?n . ?c :opened ?d } } }",
        "SELECT (COUNT(DISTINCT ?p) AS ?k) (COUNT(?c) AS ?m) { ?p :policyNumber ?n . ?c :opened ?d }",
    ],
    "undeclared-prefix": ["PREFIX x: <urn:x:> SELECT ?n { ?p zz:name ?n }"],
    "bracketed-prefix": ["SELECT ?n { ?p <:policyNumber> ?n }", "PREFIX in: <urn:x:> SELECT ?n { ?p <in:number> ?n }"],
    "lost-blank": ["SELECT ?p ?nWHERE { ?p :policyNumber ?n }"],
    "syntax": ["SELECT ?n { ?p :policyNumber", "", "Here is your query.", "SELECT ?n WHERE { ?p :policyNumber ?n ) }"],
    "service": ["SELECT ?n { SERVICE <http://example.org/sparql> { ?p :policyNumber ?n } }"],
    "update": ["INSERT DATA { :a :b :c }", "DELETE WHERE { ?s ?p ?o }", "CLEAR ALL"],
    "unknown-function": [
        "SELECT (<urn:f>(?n) AS ?m) { ?p :policyNumber ?n }",
        "SELECT (xsd:int(?n) AS ?m) { ?p :policyNumber ?n }",
    ],
    "not-analysed": ["SELECT ?n { << ?p :policyNumber ?n >> rdfs:label ?l }"],
    "object-datatype": [
        'SELECT ?n { ?p :premium "5" ; :policyNumber ?n }',
        "SELECT ?n { ?p :policyNumber 7 ; rdfs:label ?n }",
        "SELECT ?n { ?p :premium 5e0 ; :policyNumber ?n }",
        "SELECT ?n { ?c :opened '2020-01-01'^^xsd:date ; rdfs:label ?n }",
        "SELECT ?n { VALUES ?v { '5' } ?p :premium ?v ; :policyNumber ?n }",
        "SELECT ?n { VALUES (?v ?n) { ('5' '7') } ?p :premium ?v ; :policyNumber ?n }",
        "SELECT ?n { ?p :wording 7 ; rdfs:label ?n }",
    ],
    "ill-typed": [
        "SELECT ?n { ?p :premium 'much'^^xsd:decimal ; :policyNumber ?n }",
        "SELECT ?n { ?p :policyNumber ?n ; :premium ?m FILTER(?m > 'much'^^xsd:decimal) }",
        "SELECT ?n { ?c :opened ?n FILTER(?n IN ('2020-01-01'^^xsd:dateTime)) }",
        "SELECT ?n { ?c :opened ?n VALUES ?n { '31.12.2020'^^xsd:date } }",
        "SELECT ?n { ?p :premium '1.5'^^xsd:integer ; :policyNumber ?n }",
    ],
    "deprecated": [
        "SELECT ?n { ?p :rating ?n }",
        "SELECT ?n { ?c a :OldClaim ; rdfs:label ?n }",
        "SELECT ?n { VALUES ?t { :OldClaim :Claim } ?c a ?t ; rdfs:label ?n }",
        "SELECT ?n { ?t rdfs:subClassOf :OldClaim ; rdfs:label ?n }",
    ],
    "undefined-offer": [
        "SELECT ?n { VALUES ?t { :Contract :Policy } ?p a ?t ; :policyNumber ?n }",
        "SELECT ?n { ?p a ?t ; :policyNumber ?n FILTER(?t = :Contract) }",
        "SELECT ?n { ?p a ?t ; :policyNumber ?n FILTER(?t IN (:Policy, :Contract)) }",
        "SELECT ?n { VALUES ?v { :number } ?p ?v ?n }",
    ],
    "unfit-offer": [
        "SELECT ?n { VALUES ?t { :Broker } ?p a ?t ; :policyNumber ?n }",
        "SELECT ?n { VALUES ?t { :Policy :Agent } ?p a ?t . ?q :soldByAgent ?p ; :policyNumber ?n }",
        "SELECT ?n { ?p a ?t ; :policyNumber ?n FILTER(?t = :Claim) }",
    ],
    "idle-minus": [
        "SELECT ?n { ?p :policyNumber ?n MINUS { ?q :soldByAgent :b1 } }",
        "SELECT ?n { MINUS { ?p :soldByAgent :b1 } ?p :policyNumber ?n }",
        "SELECT ?n { ?p :policyNumber ?n MINUS { :p1 :soldByAgent :b1 } }",
        "SELECT ?n { ?p :policyNumber ?n MINUS { SELECT ?q { ?p :soldByAgent ?q } } }",
        "SELECT ?n { { ?p :policyNumber ?n MINUS { ?q rdfs:label ?l } } UNION { ?p rdfs:label ?n } }",
    ],
    "undone-optional": [
        "SELECT ?n { ?p :policyNumber ?n OPTIONAL { ?p :premium ?m } FILTER(?m > 5) }",
        "SELECT ?n { ?p :policyNumber ?n FILTER(?m > 5 || ?m < 1) OPTIONAL { ?p :premium ?m } }",
        'SELECT ?n { ?p :policyNumber ?n OPTIONAL { ?p rdfs:label ?l } FILTER(LANG(?l) = "en") }',
        "SELECT ?n { ?p :policyNumber ?n OPTIONAL { ?p :premium ?m } FILTER(!(?m = 5)) }",
        "SELECT ?n { ?p :policyNumber ?n OPTIONAL { OPTIONAL { ?p :premium ?m } FILTER(?m = 5) } }",
    ],
}
CONFORMING = {
    "domain": [
        "SELECT ?n { ?s a :Policy ; :policyNumber ?n }",
        "SELECT ?n { ?s a :Broker ; :agentId ?n }",
        "SELECT ?n { ?s a :Party ; :agentId ?n }",
        "SELECT ?n { ?s a :Claim ; :reviewedBy ?n }",
        "SELECT ?n { ?s a owl:Thing ; :policyNumber ?n }",
        "SELECT ?n { { ?s a :Agent } UNION { ?s :policyNumber ?n } }",
        "SELECT ?n { ?s a :Agent { SELECT ?n { ?s :policyNumber ?n } } }",
        "SELECT ?n { ?s a :Agent ; :policyNumber? ?n }",
    ],
    "range": ["SELECT ?n { ?p :soldByAgent ?a . ?a a :Broker ; :agentId ?n }"],
    "double-domain": ["SELECT ?n { ?s :soldByAgent ?a ; :policyNumber ?n }", "SELECT ?n { ?s :reviewedBy ?a ; :policyNumber ?n }"],
    "double-range": ["SELECT ?n { ?p :soldByAgent ?a . ?q :reviewedBy ?a . ?a :agentId ?n }", 'SELECT ?p { ?p :policyNumber "7" ; :opened "7" }'],
    "domain-range": ["SELECT ?n { ?c :against ?d . ?d :hasPolicy ?p . ?p :policyNumber ?n }", "SELECT ?n { ?c :against/:hasPolicy/:policyNumber ?n }"],
    "incorrect-property": ["SELECT ?n { ?p rdfs:label ?n ; skos:prefLabel ?m ; rdf:_1 ?o }", "SELECT ?n { ?p ?any ?n }"],
    "undefined-class": ["SELECT ?n { ?p a :Policy , owl:NamedIndividual ; :policyNumber ?n }", "SELECT ?n { ?p a ?n }"],
    "property-as-class": ["SELECT ?n { ?p a :Policy ; :policyNumber ?n }"],
    "class-as-property": ["SELECT ?n { ?p :policyNumber ?n }"],
    "object-kind": ['SELECT ?n { ?p :policyNumber "7" ; rdfs:label ?n }', 'SELECT ?n { ?p rdfs:label "Bob" ; :knows ?n }'],
    "unbound-variable": [
        "SELECT (COUNT(?p) AS ?n) { ?p :policyNumber ?m } GROUP BY ?m ORDER BY ?n",
        "SELECT ?n ?k { ?p :policyNumber ?n BIND(STRLEN(?n) AS ?k) VALUES ?p { :p1 } }",
        "SELECT ?n { { SELECT (MAX(?x) AS ?n) { ?p :policyNumber ?x } } }",
        "SELECT ?n { ?p :policyNumber ?n FILTER NOT EXISTS { ?p rdfs:label ?l FILTER(?l != ?n) } }",
    ],
    "type-conflict": ["SELECT ?n { ?p a :Policy , :Claim ; rdfs:label ?n }", "SELECT ?n { { ?p a :Policy } UNION { ?p a :Agent } ?p rdfs:label ?n }"],
    "literal-datatype": ['SELECT ?d { ?c :opened ?d FILTER(?d > "2020-01-01"^^xsd:date) }', "SELECT ?n { ?a :agentId ?n FILTER(?n > 3) }"],
    "disconnected": [
        "SELECT ?n { ?p :policyNumber ?n . ?c :opened ?d FILTER(?n = STR(?d)) }",
        "SELECT ?n { ?p :policyNumber ?n . ?c :opened ?d FILTER(CONTAINS(?n, STR(?d))) }",
        "SELECT ?n { ?p :policyNumber ?n BIND(?n AS ?m) ?c rdfs:label ?m ; :opened ?d }",
        "SELECT ?n { ?p :policyNumber ?n . ?c :opened ?d VALUES (?n ?d) { ('7' 8) } }",
        "SELECT ?n { ?p :policyNumber ?n . { SELECT ?n (MAX(?x) AS ?d) { ?q :opened ?x ; rdfs:label ?n } GROUP BY ?n } ?c :opened ?d }",
        "SELECT ?n { ?p :policyNumber ?n . ?c :opened ?d FILTER NOT EXISTS { ?c :reviewedBy ?p } }",
        "SELECT ?n { ?p :policyNumber ?n . ?c :opened ?d { ?c :reviewedBy ?p } UNION { ?p :reviewedBy ?c } }",
        "SELECT ?n { ?p :policyNumber ?n . ?c :opened ?d OPTIONAL { ?c :reviewedBy ?p BIND(1 AS ?k) } FILTER(!BOUND(?k)) }",
        "SELECT ?n ?m { :p1 :policyNumber ?n ; :soldByAgent ?a . ?q :soldByAgent ?a ; :policyNumber ?m }",
        "SELECT ?n ?l { :p1 :policyNumber ?n . :p1 rdfs:label ?l }",
        "SELECT ?n ?l { ?p :soldByAgent :b1 ; :policyNumber ?n . :b1 :agentId ?l }",
        "SELECT ?n { :p1 :soldByAgent :b1 . ?p :policyNumber ?n }",
        "SELECT (COUNT(DISTINCT ?p) AS ?k) (MAX(?d) AS ?m) { ?p :policyNumber ?n . ?c :opened ?d }",
        "ASK { ?p :policyNumber '7' . ?c :opened ?d }",
        "SELECT ?n { ?p :policyNumber ?n . { SELECT (COUNT(?c) AS ?k) { ?c :opened ?d } } }",
        "SELECT ?n { { ?p :policyNumber ?n } UNION { ?c :opened ?n } }",
    ],
    "undeclared-prefix": ["SELECT ?n { ?p rdfs:label ?n }"],
    "bracketed-prefix": ["SELECT ?n { ?p <http://example.org/insurance#policyNumber> ?n }"],
    "lost-blank": ["SELECT ?nWHERE { ?p :policyNumber ?nWHERE }", "SELECT ?n WHERE { ?p :policyNumber ?n }"],
    "syntax": ["SELECT ?n { ?p :policyNumber ?n }", "ASK { ?p :policyNumber '7' }", "DESCRIBE ?p { ?p :policyNumber '7' }"],
    "service": ["SELECT ?service { ?p :policyNumber ?service # SERVICE\n}"],
    "update": ["SELECT ?n { ?p :policyNumber ?n }"],
    "unknown-function": ["SELECT (xsd:integer(?n) AS ?m) { ?p :policyNumber ?n FILTER(REGEX(?n, '7')) }"],
    "not-analysed": ["SELECT ?n { ?p :policyNumber ?n }"],
    "object-datatype": [
        'SELECT ?n { ?p :premium 5 ; :policyNumber "7" ; rdfs:label ?n }',
        "SELECT ?n { ?p :premium 5.5 ; :wording 'seven'@en , 'seven' ; rdfs:label ?n }",
        "SELECT ?n { ?a :agentId 7 ; rdfs:label 7 ; :unheard 7 ; rdfs:comment ?n }",
        "SELECT ?n { ?p :premium '05.0'^^xsd:decimal ; rdfs:label ?n }",
        "SELECT ?n { ?c :opened '2020-01-01T24:00:00'^^xsd:dateTime ; rdfs:label ?n }",
        "SELECT ?n { ?p :premium* 'x' ; rdfs:label ?n }",
    ],
    "ill-typed": [
        "SELECT ?n { ?p :premium ' 5 '^^xsd:decimal , '+05'^^xsd:decimal ; :policyNumber ?n }",
        "SELECT ?n { ?p :policyNumber ?n FILTER(?n > 'NaN'^^xsd:double || ?n = 'x'^^<urn:own>) }",
        "SELECT ?n { ?c :opened ?n FILTER(?n > '2020-02-29T00:00:00.5+14:00'^^xsd:dateTime) }",
        "SELECT ?n { ?c :opened ?n FILTER(?n > '-0001-01-01'^^xsd:date || ?n < 'P1Y'^^xsd:duration) }",
    ],
    "deprecated": ["SELECT ?n { ?p :premium ?n }", "SELECT ?n { ?c a :Claim ; rdfs:label ?n }"],
    "undefined-offer": [
        "SELECT ?n { VALUES ?t { :Broker owl:NamedIndividual } ?p a ?t ; rdfs:label ?n }",
        "SELECT ?n { ?p a ?t ; rdfs:label ?n FILTER(?t != :Contract) }",
        "SELECT ?n { ?p a ?t ; rdfs:label ?n FILTER(!(?t = :Contract)) }",
        "SELECT ?n { VALUES ?v { :policyNumber rdfs:label } ?p ?v ?n }",
        "SELECT ?n { VALUES ?p { :b9 } ?p :policyNumber ?n }",
        "SELECT ?n { { VALUES ?t { :b9 } ?p rdfs:label ?n } UNION { ?p a ?t ; rdfs:label ?n } }",
    ],
    "unfit-offer": [
        "SELECT ?n { VALUES ?t { :Broker :Agent owl:Thing } ?p a ?t ; :agentId ?n }",
        "SELECT ?n { ?p a ?t ; :policyNumber ?n FILTER(?t NOT IN (:Claim)) }",
        "SELECT ?n { ?p a ?t ; :policyNumber ?n FILTER(!(?t = :Claim)) }",
        "SELECT ?n { VALUES ?t { :Agent } { ?p a ?t } UNION { ?p :policyNumber ?n } }",
        "SELECT ?n { VALUES ?t { :Agent :Policy } ?p a ?t OPTIONAL { ?p :policyNumber ?n } }",
        "SELECT ?n { { VALUES ?t { :Agent } ?p a ?t } UNION { ?p a ?t ; :policyNumber ?n } }",
    ],
    "idle-minus": [
        "SELECT ?n { ?p :policyNumber ?n MINUS { ?p :soldByAgent :b1 } }",
        "SELECT ?n { VALUES ?p { :p1 } MINUS { ?p :soldByAgent :b1 } ?p :policyNumber ?n }",
        "SELECT ?n { ?p :policyNumber ?n MINUS { ?q :policyNumber ?n ; :soldByAgent :b1 } }",
        "SELECT ?n { OPTIONAL { ?p :policyNumber ?n } MINUS { ?p :soldByAgent :b1 } }",
        "SELECT ?n { GRAPH ?g { ?p :policyNumber ?n } MINUS { GRAPH ?g { ?q :soldByAgent :b1 } } }",
        "SELECT ?n { ?p :policyNumber ?n FILTER EXISTS { ?q rdfs:label ?l MINUS { ?p :soldByAgent :b1 } } }",
    ],
    "undone-optional": [
        "SELECT ?n { ?p :policyNumber ?n OPTIONAL { ?p :premium ?m FILTER(?m > 5) } }",
        "SELECT ?n { ?p :policyNumber ?n OPTIONAL { ?p :premium ?m } FILTER(!BOUND(?m) || ?m > 5) }",
        "SELECT ?n { ?p :policyNumber ?n OPTIONAL { ?p :premium ?m } FILTER(COALESCE(?m, 9) > 5) }",
        "SELECT ?n { ?p :policyNumber ?n OPTIONAL { ?p :premium ?m } FILTER(?m > 5 || ?n = '7') }",
        "SELECT ?n { ?p :policyNumber ?n OPTIONAL { ?p :premium ?m } FILTER(?n IN ('7', ?m)) }",
        "SELECT ?n { ?p :policyNumber ?n OPTIONAL { ?p :premium ?m } FILTER(!(?n = '7' && ?m = 5)) }",
        "SELECT ?n { ?p :policyNumber ?n OPTIONAL { ?p :premium ?m } FILTER NOT EXISTS { ?q :premium ?m ; rdfs:label ?n } }",
        "SELECT ?n { ?p :policyNumber ?n ; :premium ?m OPTIONAL { ?q :premium ?m } FILTER(?m > 5) }",
        "SELECT ?n { ?p :policyNumber ?n OPTIONAL { ?p :premium ?m } ?p :premium ?m FILTER(?m > 5) }",
        "SELECT ?n { OPTIONAL { ?p :premium ?m } { ?p :premium ?m } UNION { ?p :rating ?m } FILTER(?m > 5) ?p :policyNumber ?n }",
    ],
}  # fmt: skip
WITH_DATA = {"fan-out", "unknown-entity", "unused-in-data", "empty-class", "needs-subclass"}
CASES = [(rule, query) for rule, queries in VIOLATING.items() for query in queries]
FINE = [(rule, query) for rule, queries in CONFORMING.items() for query in queries]


def test_a_remote_service_has_an_ontology_of_its_own() -> None:
    query = "SELECT ?n { ?p :policyNumber ?n SERVICE <urn:s> { ?p a <urn:Other> ; <urn:other> ?p } }"
    assert {finding.rule for finding in checked(query).findings} == {"service"}


def test_the_hint_writes_no_literal_that_is_none() -> None:
    (found,) = checked("SELECT ?d { ?c :opened ?d FILTER(?d > 5) }").findings
    assert found.hint == 'Compare ?d with a value of xsd:dateTime; "5"^^xsd:integer is none.'


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ('SELECT ?n { ?p :premium "5" ; :policyNumber ?n }', 'Write "5"^^xsd:decimal.'),
        ('SELECT ?n { ?p :premium "much" ; :policyNumber ?n }', "Bind the value to a variable, and compare it in a FILTER."),
        ("SELECT ?n { VALUES ?t { :Brokr } ?a a ?t ; :agentId ?n }", "Nearest: :Broker."),
        ("SELECT ?n { VALUES ?v { :agentID } ?a ?v ?n }", "Nearest: :agentId"),
        ("SELECT ?n { ?c a :OldClaim ; rdfs:label ?n }", "Use :Claim instead."),
        (
            "SELECT ?n { MINUS { ?p :soldByAgent :b1 } ?p :policyNumber ?n }",
            "Put the MINUS behind the patterns that give ?p a value.",
        ),
        (
            "SELECT ?n { ?p :policyNumber ?n { ?p rdfs:label ?l FILTER(?l != ?n) } }",
            "Move it to where ?n has a value, or repeat the triple that gives it one: braces are evaluated by themselves.",
        ),
    ],
)  # fmt: skip
def test_a_hint_says_what_to_write(query: str, hint: str) -> None:
    assert any(finding.hint.startswith(hint) for finding in checked(query).findings)


def test_one_of_several_offered_classes_weighs_less_than_the_only_one() -> None:
    query = "SELECT ?n {{ VALUES ?t {{ {} }} ?p a ?t ; :policyNumber ?n }}"
    found = [checked(query.format(offered)).findings[0] for offered in (":Contract", ":Contract :Policy")]
    assert [finding.severity for finding in found] == ["error", "warning"]
    assert found[1].column == found[0].column  # both point to the class, not to the pattern


def test_a_literal_beside_the_range_that_the_data_have_is_an_info() -> None:
    query = "SELECT ?n { ?p :policyNumber 7 ; rdfs:label ?n }"
    data = store(':p1 a :Policy ; :policyNumber 7 ; rdfs:label "one" .')
    severities = [{f.rule: f.severity for f in checked(query, data=each).findings} for each in (None, data)]
    assert [each["object-datatype"] for each in severities] == ["warning", "info"]


@pytest.mark.parametrize("query", VIOLATING["idle-minus"])
def test_a_minus_that_is_called_idle_takes_nothing_away(query: str) -> None:
    run = ox.Store()
    run.extend(ox.Quad(*triple) for triple in triples(DATA + ':p1 rdfs:label "a" .'))
    asked = read(BEFORE + query)
    (minus,) = asked.minuses
    without = asked.text[: minus.place.start] + asked.text[minus.place.end :]
    assert str(run.query(asked.text, prefixes=NEEDED)) != ""
    assert sorted(map(str, run.query(asked.text, prefixes=NEEDED))) == sorted(
        map(str, run.query(without, prefixes=NEEDED))
    )


@pytest.mark.parametrize("query", VIOLATING["undone-optional"])
def test_an_optional_that_is_called_undone_is_required(query: str) -> None:
    run = ox.Store()
    data = ':p1 :policyNumber "7" ; :premium 9 . :p2 :policyNumber "8" ; rdfs:label "b"@en . :p3 :policyNumber "9" ; :premium 5 .'
    run.extend(ox.Quad(*triple) for triple in triples(data))
    before, _, inside = query.rpartition("OPTIONAL ")
    asked, required = (run.query(BEFORE + text, prefixes=NEEDED) for text in (query, before + inside))
    assert sorted(map(str, asked)) == sorted(map(str, required))


def test_every_rule_is_tested() -> None:
    shipped = {rule.id for rule in shipped_rules("default")}
    assert VIOLATING.keys() | WITH_DATA | {"iri-output", "subject-output", "too-large"} == shipped
    assert VIOLATING.keys() == CONFORMING.keys()


@pytest.mark.parametrize(("rule", "query"), CASES)
def test_a_violation_is_found(rule: str, query: str) -> None:
    assert rule in rules(query)


@pytest.mark.parametrize(("rule", "query"), FINE)
def test_what_conforms_is_let_pass(rule: str, query: str) -> None:
    assert rule not in rules(query)


DATA_CASES = {
    'SELECT ?p { ?p :policyNumber "8" ; rdfs:label ?n }': "unknown-entity",
    "SELECT ?n { :nobody :policyNumber ?n }": "unknown-entity",
    "SELECT ?n { ?p a :Policy ; rdfs:label ?n }": "unused-in-data",
    "SELECT ?n { ?p a :Holder ; rdfs:label ?n }": "empty-class",
    "SELECT ?n { ?p a :Agent ; :agentId ?n }": "needs-subclass",
}


@pytest.mark.parametrize(("query", "rule"), DATA_CASES.items())
def test_a_look_at_the_data_finds_it(query: str, rule: str) -> None:
    assert rule in rules(query, data=store())


@pytest.mark.parametrize(
    ("written", "hint", "mended"),
    [
        ("7", 'Write `"7"`, as the data has it.', True),
        ('"7"@en', 'Write `"7"`, as the data has it.', True),
        ('"8"', "Look the thing up by its name", False),
    ],
)
def test_a_literal_that_the_data_write_otherwise_is_written_out(written: str, hint: str, mended: bool) -> None:
    query = f"SELECT ?n {{ ?p :policyNumber {written} ; :soldByAgent/:agentId ?n }}"
    check = checked(query, data=store())
    found = next(finding for finding in check.findings if finding.rule == "unknown-entity")
    assert found.hint.startswith(hint)
    assert (mend(check) == check.query.replace(written, '"7"')) is mended


def test_a_date_for_a_time_is_written_out_and_left_to_the_model() -> None:
    data = store(':c1 a :Claim ; :opened "2019-01-15T00:00:00"^^xsd:dateTime ; rdfs:label "one" .')
    check = checked('SELECT ?n { ?c :opened "2019-01-15"^^xsd:date ; rdfs:label ?n }', data=data)
    found = next(finding for finding in check.findings if finding.rule == "unknown-entity")
    assert found.hint == 'Write `"2019-01-15T00:00:00"^^xsd:dateTime`, as the data has it.'
    assert mend(check) is None


@pytest.mark.parametrize("query", DATA_CASES)
def test_without_data_nothing_is_said_of_them(query: str) -> None:
    assert not WITH_DATA & set(rules(query))


def test_what_the_data_have_is_let_pass() -> None:
    query = 'SELECT ?n { ?p a :Policy ; :policyNumber "7" ; :soldByAgent :b1 . :b1 a :Broker ; :agentId ?n }'
    assert rules(query, data=store()) == []


def test_what_the_data_do_nevertheless_is_only_an_info() -> None:
    query = "SELECT ?n { ?b a :Broker ; :policyNumber ?n }"
    severities = [{f.rule: f.severity for f in checked(query, data=data).findings} for data in (None, store())]
    assert [each["domain"] for each in severities] == ["error", "info"]


@pytest.mark.parametrize(
    "wrapped",
    ["OPTIONAL {{ {} }}", "{{ {} }} UNION {{ ?p :policyNumber ?n }}", "FILTER NOT EXISTS {{ {} }}", "MINUS {{ {} }}"],
)
def test_inside_a_weak_context_an_error_is_a_warning(wrapped: str) -> None:
    query = f"SELECT ?n {{ ?p :policyNumber ?n {wrapped.format('?p :number ?m')} }}"
    assert {f.rule: f.severity for f in checked(query).findings}["incorrect-property"] == "warning"


def test_a_selected_identifier_is_an_error_when_asked_for() -> None:
    query = "SELECT ?p { ?p :policyNumber ?n }"
    assert checked(query).valid
    assert not checked(query, head="error").valid


def test_a_namespace_can_be_let_pass() -> None:
    query = "PREFIX x: <urn:x:> SELECT ?n { ?p a x:Thing ; x:name ?n }"
    assert rules(query, allowed=("urn:x:",)) == []


def test_a_part_that_is_not_joined_gets_the_property_that_could_join_it() -> None:
    hints = {
        f.rule: f.hint for f in checked("SELECT ?n ?d { ?p a :Policy ; :policyNumber ?n . ?c :opened ?d }").findings
    }
    assert hints["disconnected"].startswith("Write `?c :against/:hasPolicy ?p` to join them; ")


def test_findings_of_one_fault_share_a_root() -> None:
    found = checked("SELECT ?n { ?agent :soldByAgent ?p ; a :Agent ; :agentId ?n . ?q :number ?n }").findings
    roots = {finding.rule: finding.root for finding in found}
    assert roots["domain"] == roots["double-domain"] != roots["incorrect-property"]


def test_a_finding_says_where() -> None:
    (finding,) = checked("SELECT ?n {\n  ?p :policyNumber ?x .\n  ?p :number ?n }").findings
    assert (finding.line, finding.column, finding.subject, finding.predicate) == (3, 6, "?p", ":number")


def test_too_many_patterns_are_refused_and_not_called_right() -> None:
    query = "SELECT ?n { " + " ".join(f"?s{i} :policyNumber ?n ." for i in range(1_001)) + " }"
    assert rules(query) == ["too-large"]
    assert not checked(query).valid


def test_a_union_of_classes_is_named_as_alternatives() -> None:
    (finding,) = (
        f for f in checked("SELECT ?n { ?a a :Agent ; :reviewedBy ?b ; rdfs:label ?n }").findings if f.rule == "domain"
    )
    assert "has domain :Claim or :Policy" in finding.message or "has domain :Policy or :Claim" in finding.message


def test_a_label_of_the_ontology_is_data_and_no_template() -> None:
    query = 'SELECT ?n { ?p :soldByAgent "{{ 7*7 }} {p}" ; :policyNumber ?n }'
    assert any("{{ 7*7 }} {p}" in finding.message for finding in checked(query, index()).findings)
