"""Opposites: a sentence that says "closed" in the words of a question that asks for "open", so that both compare.

"The museum is closed on Mondays" has the words of "Is the museum open on Mondays?" once it reads "is not open". The
same serves what a proposal came to: who asks whether it was accepted is answered by "was turned down".
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

import regex

from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex

__all__ = ["ProposalOutcome", "in_words_of", "outcome", "times_allowed"]

_PAIRS = MappingProxyType(
    {
        ENGLISH: (
            (r"open(?:ed)?", r"closed|shut"),
            (r"included|inclusive|includes?|including|covered|covers?", r"excluded|exclusive|excludes?"),
            (
                r"accepted|accept|accepts|approved|approves?|adopted|granted|grants?|passed|agreed(?:\s+to)?|carried",
                r"rejected|rejects?|refused|declined|turned\s+down|voted\s+down|dismissed|vetoed|thrown\s+out",
            ),
            (r"charged?|charges|fees?|costs?|payable|chargeable", r"free\s+of\s+charge|free|without\s+charge|gratis"),
            (r"mandatory|compulsory|obligatory|required|must", r"optional|voluntary"),
            (r"take\s+place|took\s+place|taken\s+place|held", r"cancelled|canceled|called\s+off"),
            (r"available|in\s+stock|obtainable", r"sold\s+out|out\s+of\s+stock|unobtainable"),
        ),
        "de": (
            (r"offen\p{L}{0,2}|geöffnet\p{L}{0,2}|auf(?=\s*[.,;?]|\Z)", r"geschlossen\p{L}{0,2}|zu(?=\s*[.,;?]|\Z)"),
            (r"enthalten|inbegriffen|eingeschlossen|inklusive", r"ausgeschlossen|ausgenommen|exklusive"),
            (
                r"angenommen|genehmigt|bewilligt|gebilligt|beschlossen|zugestimmt|stattgegeben",
                r"abgelehnt|verworfen|zurückgewiesen|abgewiesen|verweigert",
            ),
            (
                r"kostenpflichtig\p{L}{0,2}|gebührenpflichtig\p{L}{0,2}",
                r"kostenlos\p{L}{0,2}|kostenfrei|gratis|umsonst",
            ),
            (r"vorgeschrieben|verpflichtend|obligatorisch|Pflicht|muss|müssen", r"freiwillig|freigestellt"),
            (r"stattgefunden|statt", r"abgesagt|ausgefallen"),
            (r"erhältlich|lieferbar|verfügbar|vorrätig", r"ausverkauft|vergriffen"),
        ),
        "fr": (
            (r"ouverte?s?", r"fermée?s?"),
            (r"inclus(?:es?)?|comprise?s?|couverte?s?", r"exclue?s?"),
            (
                r"acceptée?s?|approuvée?s?|adoptée?s?|accordée?s?|votée?s?|admise?s?",
                r"rejetée?s?|refusée?s?|repoussée?s?|déclinée?s?",
            ),
            (r"payante?s?|facturée?s?", r"gratuite?s?|gratuitement"),
            (r"obligatoires?|exigée?s?|imposée?s?", r"facultatif|facultatifs|facultatives?|optionnel(?:le)?s?"),
            (r"eu\s+lieu|lieu|tenue?s?", r"annulée?s?"),
            (r"disponibles?|en\s+stock", r"épuisée?s?"),
        ),
    }
)
_DENIED = MappingProxyType(
    {
        ENGLISH: r"(?:\bnot|\bno\s+longer|\bnever|n['’]t)\W+(?:\p{L}+\W+){0,2}?",
        "de": r"(?:\bnicht|\bnie(?:mals)?)\W+(?:\p{L}+\W+){0,2}?",
        "fr": r"(?:\bne\s|\bn['’])(?:\p{L}+\s){1,3}?(?:pas|plus|jamais)\s+(?:\p{L}+\s){0,2}?",
    }
)
_NOT = MappingProxyType({ENGLISH: "not", "de": "nicht", "fr": "ne est pas"})
_MIN_BARE = 5  # letters of a word of which "un" makes the contrary
_NON = late_regex(r"\bnon[\s-](?=\p{Ll}{4})", flags=regex.IGNORECASE)
_PROPOSALS = MappingProxyType(
    {
        ENGLISH: r"proposals?|motions?|requests?|applications?|plans?|bids?|ideas?|petitions?|suggestions?",
        "de": r"Antr[aä]ge?|Vorschl[aä]ge?|Pl[aä]ne?|Anfragen?|Gesuche?|Ideen?",
        "fr": r"propositions?|motions?|demandes?|projets?|requêtes?|idées?",
    }
)
_DONE = MappingProxyType(
    {
        ENGLISH: r"\A\s*(?:was|were|did|has|have|had)\b",
        "de": r"\A\s*(?:wurden?|hat|haben|hatten?|ist|sind)\b.*\p{L}(?:t|en)\W*\Z",
        "fr": r"\b(?:a|ont)(?:-t)?-(?:ils?|elles?|on)\b|\best-ce\s+qu\S*.*\b(?:a|ont)\s+été\b",
    }
)
_NEGATED = MappingProxyType(
    {
        ENGLISH: late_regex(r"\b(?:not|never)\b|n['’]t\b", flags=regex.IGNORECASE),
        "de": late_regex(r"\b(?:nicht|nie|kein\p{L}*)\b", flags=regex.IGNORECASE),
        "fr": late_regex(r"\b(?:pas|jamais|aucune?)\b", flags=regex.IGNORECASE),
    }
)
_TIMES = MappingProxyType(
    {
        ENGLISH: ("once", "twice", "three times", "four times", "five times"),
        "de": ("einmal", "zweimal", "dreimal", "viermal", "fünfmal"),
        "fr": ("une fois", "deux fois", "trois fois", "quatre fois", "cinq fois"),
    }
)
_ONLY_TIMES = late_regex(
    r"\b(?:only|just|at\s+most|no\s+more\s+than|not\s+more\s+than|nur|höchstens|maximal|lediglich|seule?|seulement"
    r"|uniquement|au\s+plus)\b",
    flags=regex.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ProposalOutcome:
    """What a proposal is about, and whether what is asked of it is so."""

    matter: str
    truth: bool


def in_words_of(question: str, sentence: str, language: str) -> str:
    """Return a sentence with the contrary of a word of a question as that word, denied; as it is where it has none.

    >>> in_words_of("Is the museum open on Mondays?", "The museum is closed on Mondays.", "en")
    'The museum is not open on Mondays.'
    """
    for pair in _PAIRS[language]:
        for asked, contrary in (pair, pair[::-1]):
            word = _whole(asked).search(question)
            if word and not _whole(contrary).search(question):
                sentence = _reworded(sentence, contrary, word[0], language)
    if language == "fr":
        return str(_NON.sub("ne est pas ", sentence))
    return _without_prefix(question, sentence) if language == "de" else sentence


def outcome(question: str, sentence: str, language: str) -> ProposalOutcome | None:
    """Return what a sentence says of a proposal, where a question asks for it or whether what it wants was done.

    None where the sentence has no proposal, nothing came of it, or it was accepted, which doesn't say that it was done.
    """
    proposals = _whole(_PROPOSALS[language])
    accepted, refused = (_whole(words) for words in _PAIRS[language][2])
    proposal = proposals.search(sentence)
    came = [found for one in (accepted, refused) if proposal and (found := one.search(sentence, proposal.end()))]
    if proposal is None or len(came) != 1:
        return None
    denied = regex.search(_DENIED[language] + r"\Z", sentence[: came[0].start()], regex.IGNORECASE) is not None
    was_refused = (refused.fullmatch(came[0][0]) is not None) != denied
    asks = [one.search(question) is not None for one in (accepted, refused)]
    matter = sentence[proposal.start() : came[0].start()]
    if proposals.search(question) and asks[0] != asks[1]:
        return None if _NEGATED[language].search(question) else ProposalOutcome(matter, asks[1] == was_refused)
    asks_done = regex.search(_DONE[language], question, regex.IGNORECASE) and not proposals.search(question)
    return ProposalOutcome(matter, False) if asks_done and was_refused and not any(asks) else None


def times_allowed(question: str, sentence: str, language: str) -> bool | None:
    """Return whether a sentence agrees with how many times a question says; False where it allows fewer only.

    None where both say how often, and not the same.
    """
    asked, stated = (_times(text, language) for text in (question, sentence))
    if asked is None or stated is None or asked[0] == stated[0]:
        return True
    return False if stated[1] and asked[0] > stated[0] else None


def _times(text: str, language: str) -> tuple[int, bool] | None:
    """Return how many times a text says, and whether no more; None where it says it not, or more than once."""
    plain = _ONLY_TIMES.sub(" ", text.casefold())
    spaced = " ".join(plain.split())
    found = [at for at, words in enumerate(_TIMES[language], start=1) if regex.search(rf"\b{words}\b", spaced)]
    return (found[0], _ONLY_TIMES.search(text) is not None) if len(found) == 1 else None


def _whole(words: str) -> regex.Pattern[str]:
    return regex.compile(rf"(?<![\p{{L}}-])(?:{words})(?![\p{{L}}-])", regex.IGNORECASE)


def _reworded(sentence: str, contrary: str, word: str, language: str) -> str:
    """Return a sentence with a word in place of its contrary: denied, and not where the contrary was denied."""
    pattern = regex.compile(rf"(?P<denied>{_DENIED[language]})?{_whole(contrary).pattern}", regex.IGNORECASE)
    return str(pattern.sub(lambda found: word if found["denied"] else f"{_NOT[language]} {word}", sentence))


def _without_prefix(question: str, sentence: str) -> str:
    """Return a German sentence with "nicht bezahlt" for "unbezahlt", or the other way round, as a question has it."""
    for word in set(regex.findall(r"\p{L}+", question.casefold())):
        if word.startswith("un") and len(word) >= _MIN_BARE + 2:
            pattern = rf"\b{word[2:]}\b"
            if not regex.search(rf"\b{word}\b", sentence, regex.IGNORECASE):
                sentence = regex.sub(pattern, f"nicht {word}", sentence, flags=regex.IGNORECASE)
        elif len(word) >= _MIN_BARE:
            sentence = regex.sub(rf"\bun{word}\b", f"nicht {word}", sentence, flags=regex.IGNORECASE)
    return sentence
