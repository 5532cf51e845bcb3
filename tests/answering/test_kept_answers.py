"""Answers as graphs."""

from kgrag import KnowledgeBase, shacl


def test_a_kept_answer_can_be_asked_for_with_its_quotes(demo_kb: KnowledgeBase) -> None:
    answer = demo_kb.ask("When is chickpea sown in the Hill Zone?", keep=True)
    rows = demo_kb.query(
        "SELECT ?quote WHERE { ?answer kg:question ?question . ?c dcterms:isPartOf ?answer ; kg:quote ?quote }"
    )
    assert {row[0] for row in rows.values()} == {citation.quote for citation in answer.citations}


def test_an_answer_kept_twice_is_one_graph_that_conforms(demo_kb: KnowledgeBase) -> None:
    for _ in range(2):
        demo_kb.ask("When is chickpea sown in the Hill Zone?", keep=True)
    demo_kb.ask("Which emperor abolished the tax on silk?", keep=True)
    assert demo_kb.stats()["graphs"]["AnswerGraph"] == 2
    assert shacl.validate(demo_kb.store, shacl.graph_shapes()) == []
