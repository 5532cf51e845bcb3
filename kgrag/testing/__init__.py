"""For tests of code that uses kgrag: fakes of models and embedders, and the checks that every method has to pass.

>>> model = ScriptedModel({"answering/answer": '{"sentences": []}'})
>>> HashEmbedder().dimension
64

A package that adds a method tests it in one line, or check by check::

    def test_my_method_is_a_method():
        check_method("mine")

    @pytest.mark.parametrize("check", method_checks("mine"), ids=str)
    def test_my_method(check):
        check()
"""

from kgrag.testing.fakes import HashEmbedder, Reply, ScriptedModel, toy_documents
from kgrag.testing.method_checks import MethodCheck, check_method, method_checks

__all__ = [
    "HashEmbedder",
    "MethodCheck",
    "Reply",
    "ScriptedModel",
    "check_method",
    "method_checks",
    "toy_documents",
]
