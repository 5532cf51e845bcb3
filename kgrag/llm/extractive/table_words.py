"""How English, German and French ask for cells, rows, counts and sums of tables.

Each language has the words that stand for labels of columns ("heavy": weight), extremes, comparisons, and what is said
of rows without narrowing them down. The code that reads tables is the same for all three.
"""

from __future__ import annotations

from types import MappingProxyType

import regex

from kgrag.languages import ENGLISH, language_of
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.table_vocabulary import TableWords, caseless, labels_meant
from kgrag.llm.extractive.table_words_french import FRENCH
from kgrag.llm.extractive.table_words_german import GERMAN

__all__ = ["table_language", "table_words"]


def table_words(language: str) -> TableWords:
    """Return the words of a language; those of English for one of which too little is known."""
    return _WORDS.get(language, _WORDS[ENGLISH])


def table_language(question: str) -> str:
    """Return the code of the language in which a question is compared with tables: English, German or French.

    >>> table_language("Was kostet der Kalkrain?"), table_language("Combien coûte le carnet ?")
    ('de', 'fr')
    """
    found = language_of(question, "")
    if not found:
        found = next((code for code, opens in _OPENS.items() if opens.match(question.strip())), ENGLISH)
    return found if found in _WORDS else ENGLISH


_OPENS = {
    "de": late_regex(
        r"(?:(?:was|wie)\s+(?:kost|viel|hoch|lang|schwer|teuer|alt|groß|breit|tief|heiß|laut|schnell|warm)\p{L}*"
        r"|(?:\p{L}+\s+)?welche[mnrs]?|wo|wer|wann|gibt|ist|sind|hat|haben)\b",
        flags=regex.IGNORECASE,
    ),
    "fr": late_regex(r"(?:(?:\p{L}+\s+)?(?:quel(?:le)?s?|combien)|où|qui|quand|est-ce)\b", flags=regex.IGNORECASE),
}


_ENGLISH = TableWords(
    language=ENGLISH,
    label_words=labels_meant(
        (
            (r"\b(?:heav(?:y|ier|iest)|weighs?|light(?:er|est)?)\b", "weight mass"),
            (
                r"\b(?:costs?|prices?|pay|charged?|expensive|cheap(?:er|est)?|dear(?:er|est)?)\b",
                "price cost fee rate fare",
            ),
            (r"\bhow much (?:is|are)\b", "price cost fee rate fare"),
            (r"\b(?:earns?|paid)\b", "salary wage pay income"),
            (r"\b(?:tall(?:er|est)?|high)\b", "height head"),
            (r"\bhigh\b.*\blift\b", "head lift"),
            (r"\bhow long (?:is|are|was|were)\b|\blong(?:er|est)\b", "length duration time"),
            (r"\bhow long (?!is|are|was|were)|\blasts?\b", "duration time period"),
            (r"\b(?:wide(?:r|st)?|broad)\b", "width"),
            (r"\bdeep(?:er|est)?\b", "depth"),
            (r"\b(?:hot(?:ter|test)?|cold(?:er|est)?|warm(?:er|est)?)\b", "temperature"),
            (r"\b(?:fast(?:er|est)?|quick(?:er|est)?)\b", "speed"),
            (r"\b(?:loud(?:er|est)?|noisy|quiet(?:er|est)?)\b", "noise sound"),
            (r"\b(?:each|every|per|a) year\b|\byearly\b", "annual year"),
            (r"\b(?:each|every|per|a) month\b", "monthly month"),
            (r"\bhow far\b", "distance range"),
            (
                r"\bhow (?:big|large)\b|\b(?:bigger|biggest|larger|largest|smaller|smallest)\b",
                "size area volume capacity",
            ),
            (
                r"\b(?:how many (?:people|persons|seats)|fit|hold)\b",
                "capacity seat place person people sleep bed crew",
            ),
            (r"\b(?:carry|carries|lift)\b", "load payload capacity"),
            (r"\b(?:phone|telephone|call|ring|reach)\b", "phone telephone tel mobile"),
            (r"\be-?mail\b", "email mail"),
            (
                r"\bwho\b.*\b(?:looks? after|responsible|charge|contact|runs?|cares?)\b",
                "contact warden keeper manager owner supervisor",
            ),
            (r"\bwho\b.*\b(?:borrowed|has)\b", "borrowed borrower"),
            (r"\bwhere\b", "location room place address site venue shelf town depot"),
            (r"\b(?:teach(?:es)?|taught|lectures?|instructs?)\b", "trainer teacher instructor lecturer tutor speaker"),
            (
                r"^who (?:gives?|holds?|leads?|runs?|talks?|speaks?|presents?)\b",
                "trainer teacher instructor lecturer tutor speaker leader",
            ),
            (r"\bdoes\b.*\bgive\b", "trainer teacher instructor lecturer tutor speaker"),
            (r"^who (?:rents?|rented|occupies)\b", "tenant lessee"),
            (r"\b(?:donate[sd]?|gave)\b", "donor"),
            (r"\b(?:takes? place|held|happens?|starts?|begins?)\b", "date day start"),
            (r"\b(?:oldest|newest)\b", "year built purchase bought date"),
            (r"\b(?:runs? out|expires?|valid until)\b", "expires expiry valid"),
            (r"\b(?:returned|bring back|give back|due)\b", "due back return"),
            (r"\bsince when\b|\bfor how long\b", "since from start joined"),
            (r"\bfrom (?:when|what date)\b", "from available start"),
            (r"\b(?:wait|waiting)\b", "wait waiting"),
            (r"\b(?:miles|mileage|clock)\b", "mileage odometer"),
            (r"\b(?:until (?:when|what)|clos(?:e|es|ed|ing))\b", "closes closing until to"),
            (r"(?<!until )\bwhen\b.*\bopen", "opens opening from"),
        )
    ),
    most=caseless(
        r"\b(?:most|(?:high|larg|bigg|great|long|tall|heavi|fast|wid|deep|loud|strong|dear|lat|new|young|hott|warm)est|maximum)\b"
    ),
    least=caseless(
        r"\b(?:least|fewest|(?:low|small|short|light|slow|narrow|cheap|quiet|earli|old|cold|shallow)est|minimum)\b"
    ),
    which=caseless(
        r"\b(?:which|what)\s+(?!(?:is|are|was|were|do|does|did|can|could|has|have|will|would|should|must)\b)"
        r"(?P<noun>(?:\p{L}[\p{L}-]*\s+){0,3}?\p{L}[\p{L}-]*)"
    ),
    who=caseless(r"(?:who|whose)\b|what (?:has|have)\b"),
    how_many=caseless(r"\bhow many(?: of (?:the|our|my|your|these|those|all))*\b"),
    comparisons=MappingProxyType(
        {
            "<=": caseless(r"\b(?:no more than|not more than|at most|up to|a maximum of)"),
            ">=": caseless(r"\b(?:no less than|not less than|at least|a minimum of|since)"),
            ">": caseless(
                r"\b(?:(?:more|greater|higher|heavier|longer|larger|bigger|wider|deeper|faster|louder|taller|hotter|warmer)"
                r" than|over|above|exceed(?:s|ing)?|beyond|after)"
            ),
            "<": caseless(
                r"\b(?:(?:less|fewer|lower|lighter|cheaper|smaller|shorter|narrower|slower|quieter|cooler|colder)"
                r" than|under|below|before)"
            ),
            "=": caseless(r"\bexactly"),
        }
    ),
    total=caseless(r"\b(?:totals?|sum|altogether|in all|combined|overall|together)\b"),
    average=caseless(r"\b(?:on average|average|the mean)\b"),
    negation=caseless(r"\b(?:not|no|never|without|except|other than|n['’]t)\b|n['’]t\b"),
    until=caseless(r"\b(?:until|till)\b"),
    vague_words=(
        "come get go need want buy find euros dollars use offer open list contain include exist total sum average mean "
        "altogether combine overall together all exactly number amount there different run own operate keep "
        "sell make work member take reach write place issue date"
    ),
    row_words="row entry line record item table sheet spreadsheet file list",
    people_words="people person persons staff employee employees colleague colleagues worker workers helper helpers",
    listing=caseless(
        r"\b(?:are|were) (?:there|listed|available|offered)\b|\bexist\b|\bhave we\b"
        r"|\b(?:do|can) (?:we|you|they) (?:have|offer|sell)\b"
    ),
    plural=caseless(
        r"\b(?:which|what)\s+(?!(?:is|was|does|has|are|were|do|did|have)\b)(?:\p{Ll}+\s+){0,2}?"
        r"(?!(?:was|does|has)\b)(?:\p{L}+[^\Wsiu]s|people|children|staff)\s+(?!is\b|was\b)"
    ),
    naming="name product item title model description designation type",
    names=late_regex(r"(?<=\s)(?:\p{Lu}[\p{L}\p{M}\p{N}'’./-]*|[\p{L}-]*\p{N}[\p{L}\p{N}.,:/-]*)"),
    asked_thing=caseless(
        r"(?:(?:what|how \p{L}+) (?:is|are|was|were|will be) (?:the |our )?(?P<phrase>.+?)"
        r"|(?:what|which) (?P<phrase>.+?) (?:does|do|did|has|have|had)\b.*?)"
        r"(?: (?:of|for|in|on|at|to|from|with|by|per)\b|$)"
    ),
    quantities="quantity qty stock pieces units count number inventory",
    stock_words="stock inventory store",
    store_words="stock inventory warehouse depot store storage reorder minimum shelf bin",
    generic_words="number address value name figure code phone full shift duty",
    ordinals=MappingProxyType(
        {
            2: caseless(r"\b(?:second|2nd)[ -](?=\p{L}+est\b|most\b)"),
            3: caseless(r"\b(?:third|3rd)[ -](?=\p{L}+est\b|most\b)"),
            4: caseless(r"\b(?:fourth|4th)[ -](?=\p{L}+est\b|most\b)"),
        }
    ),
    for_whom=caseless(
        r"\bfor (?:an? |the |our )?(?P<group>[\p{L}-]+(?: [\p{L}-]+)?)$|\b(?:does|do|must|would) (?:an? |the |our )?"
        r"(?P<group>\p{L}[\p{L}-]*(?: \p{Ll}+)?) (?:have to )?pay\b"
    ),
    comparative=caseless(
        r"\b(?P<less>less \p{Ll}+|fewer|(?:low|small|short|light|slow|narrow|cheap|quiet|cold|shallow|earli)er)\b"
        r"|\bmore (?!than)\p{Ll}+|\b(?:high|larg|bigg|great|long|tall|heavi|fast|wid|deep|loud|dear|lat|hott|warm)er\b"
    ),
    opposites=((caseless(r"\b(?:last|previous)\b"), caseless(r"\bnext\b")),),
)

_WORDS = MappingProxyType({ENGLISH: _ENGLISH, "de": GERMAN, "fr": FRENCH})
