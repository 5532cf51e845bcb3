"""The benchmark of plans of questions: each is planned by those before it, and sums are compared."""

from benchmarks.question_plans import Asked, in_order, off
from kgrag.llm.reply_lengths import Lengths, Plan
from kgrag.model import Prompt, Usage

QUERY = Prompt("obqc/ask", "x" * 400, {"question": "x" * 40})


def asked(taken: int) -> Asked:
    paid = Usage(1, 100, taken)
    return Asked(Plan([QUERY]), (("obqc/ask", Lengths.of(Usage(1, 100, 60), paid), paid),))


def test_plans_come_near_what_questions_cost_the_more_were_asked() -> None:
    pairs = in_order([asked(30)] * 40)
    errors = [abs(off(part, "output_tokens")) for part in (pairs[:5], pairs[5:15], pairs[30:])]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 0.3
    assert errors[-1] < 0.1


def test_the_first_plan_knows_nothing_of_what_comes() -> None:
    assert in_order([asked(30)])[0][0] == in_order([asked(90)])[0][0]
