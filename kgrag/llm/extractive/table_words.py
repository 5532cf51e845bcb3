"""How English, German and French ask for cells, rows, counts and sums of tables.

Each language has the words that stand for labels of columns ("heavy": weight), extremes, comparisons, and what is said
of rows without narrowing them down. The code that reads tables is the same for all three.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import regex

from kgrag.languages import ENGLISH, language_of, stems
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import term

__all__ = ["TableWords", "table_language", "table_words"]


@dataclass(frozen=True)
class TableWords:
    """What a language has for questions about tables.

    Args:
        language: its code.
        label_words: words of questions, and those of the labels that they ask for.
        most: asks for the largest figure of a column.
        least: asks for the smallest.
        which: asks for one of what its ``noun`` names.
        who: asks for a name.
        how_many: asks for a number of things.
        comparisons: words before a figure, by the sign that they stand for.
        total: asks for a sum.
        average: asks for a mean.
        negation: denies something.
        until: asks when something ends.
        vague_words: those that say nothing of which rows are meant.
        row_words: those for the rows of any table.
        naming: words in the labels of columns that name rows.
        asked_thing: what a question asks for by a noun, in its ``phrase``: "the due date" of an invoice.
        quantities: words of labels whose figures say how many there are of the thing in a row.
        stock_words: those that ask for what is in stock.
        store_words: those of which a table about what is in stock has one.
        generic_words: words behind or before that of a label that say nothing more: the number of "phone number".
        ordinals: words before an extreme, by the place that they ask for.
        names: what names and codes look like.
        sum_of: stands before a sum.
        mean_of: stands before a mean.
    """

    language: str
    label_words: Sequence[tuple[regex.Pattern[str], str]]
    most: regex.Pattern[str]
    least: regex.Pattern[str]
    which: regex.Pattern[str]
    who: regex.Pattern[str]
    how_many: regex.Pattern[str]
    comparisons: Mapping[str, regex.Pattern[str]]
    total: regex.Pattern[str]
    average: regex.Pattern[str]
    negation: regex.Pattern[str]
    until: regex.Pattern[str]
    vague_words: str
    row_words: str
    naming: str
    names: regex.Pattern[str]
    asked_thing: regex.Pattern[str]
    quantities: str
    stock_words: str
    store_words: str
    generic_words: str
    ordinals: Mapping[int, regex.Pattern[str]]
    sum_of: str = "Total"
    mean_of: str = "Average"

    @cached_property
    def synonyms(self) -> tuple[tuple[regex.Pattern[str], frozenset[str]], ...]:
        """Words of questions, and terms of the labels that they ask for."""
        return tuple((asks, _terms(labels, self.language)) for asks, labels in self.label_words)

    @cached_property
    def vague(self) -> frozenset[str]:
        """Terms that say nothing of which rows are meant."""
        return _terms(self.vague_words, self.language)

    @cached_property
    def name_labels(self) -> frozenset[str]:
        """Terms of the labels of columns that name rows."""
        return _terms(self.naming, self.language)

    @cached_property
    def quantity_labels(self) -> frozenset[str]:
        """Terms of labels whose figures say how many there are of something."""
        return _terms(self.quantities, self.language)

    @cached_property
    def stock(self) -> frozenset[str]:
        """Terms that ask for what is in stock."""
        return _terms(self.stock_words, self.language)

    @cached_property
    def stores(self) -> frozenset[str]:
        """Terms of which a table about what is in stock has one."""
        return _terms(self.store_words, self.language)

    @cached_property
    def generic(self) -> frozenset[str]:
        """Terms beside that of a label which say nothing more."""
        return _terms(self.generic_words, self.language)

    @cached_property
    def rows(self) -> frozenset[str]:
        """Terms for the rows of any table."""
        return _terms(self.row_words, self.language)


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


def _caseless(text: str) -> regex.Pattern[str]:
    return late_regex(text, flags=regex.IGNORECASE)


def _terms(text: str, language: str) -> frozenset[str]:
    words = text.split()
    return frozenset(map(term, words) if language == ENGLISH else stems(words, language))


def _labels(rows: Sequence[tuple[str, str]]) -> tuple[tuple[regex.Pattern[str], str], ...]:
    return tuple((_caseless(asks), labels) for asks, labels in rows)


_ENGLISH = TableWords(
    language=ENGLISH,
    label_words=_labels(
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
    most=_caseless(
        r"\b(?:most|(?:high|larg|bigg|great|long|tall|heavi|fast|wid|deep|loud|strong|dear|lat|new|young|hott|warm)est|maximum)\b"
    ),
    least=_caseless(
        r"\b(?:least|fewest|(?:low|small|short|light|slow|narrow|cheap|quiet|earli|old|cold|shallow)est|minimum)\b"
    ),
    which=_caseless(
        r"\b(?:which|what)\s+(?!(?:is|are|was|were|do|does|did|can|could|has|have|will|would|should|must)\b)"
        r"(?P<noun>(?:\p{L}[\p{L}-]*\s+){0,3}?\p{L}[\p{L}-]*)"
    ),
    who=_caseless(r"(?:who|whose)\b|what (?:has|have)\b"),
    how_many=_caseless(r"\bhow many(?: of (?:the|our|my|your|these|those|all))*\b"),
    comparisons=MappingProxyType(
        {
            "<=": _caseless(r"\b(?:no more than|not more than|at most|up to|a maximum of)"),
            ">=": _caseless(r"\b(?:no less than|not less than|at least|a minimum of|since)"),
            ">": _caseless(
                r"\b(?:(?:more|greater|higher|heavier|longer|larger|bigger|wider|deeper|faster|louder|taller|hotter|warmer)"
                r" than|over|above|exceed(?:s|ing)?|beyond|after)"
            ),
            "<": _caseless(
                r"\b(?:(?:less|fewer|lower|lighter|cheaper|smaller|shorter|narrower|slower|quieter|cooler|colder)"
                r" than|under|below|before)"
            ),
            "=": _caseless(r"\bexactly"),
        }
    ),
    total=_caseless(r"\b(?:totals?|sum|altogether|in all|combined|overall|together)\b"),
    average=_caseless(r"\b(?:on average|average|the mean)\b"),
    negation=_caseless(r"\b(?:not|no|never|without|except|other than|n['’]t)\b|n['’]t\b"),
    until=_caseless(r"\b(?:until|till)\b"),
    vague_words=(
        "come get go need want buy find euros dollars use offer open list contain include exist total sum average mean "
        "altogether combine overall together all exactly number amount there different run own operate keep "
        "sell make work member take reach write place issue date"
    ),
    row_words="row entry line record table sheet spreadsheet file list",
    naming="name product item title model description designation type",
    names=late_regex(r"(?<=\s)(?:\p{Lu}[\p{L}\p{M}\p{N}'’./-]*|[\p{L}-]*\p{N}[\p{L}\p{N}.,:/-]*)"),
    asked_thing=_caseless(
        r"(?:(?:what|how \p{L}+) (?:is|are|was|were|will be) (?:the |our )?(?P<phrase>.+?)"
        r"|(?:what|which) (?P<phrase>.+?) (?:does|do|did|has|have|had)\b.*?)"
        r"(?: (?:of|for|in|on|at|to|from|with|by|per)\b|$)"
    ),
    quantities="quantity qty stock pieces units count number inventory",
    stock_words="stock inventory store",
    store_words="stock inventory warehouse depot store storage reorder minimum shelf bin",
    generic_words="number address value name figure code phone full",
    ordinals=MappingProxyType(
        {
            2: _caseless(r"\b(?:second|2nd)[ -](?=\p{L}+est\b|most\b)"),
            3: _caseless(r"\b(?:third|3rd)[ -](?=\p{L}+est\b|most\b)"),
            4: _caseless(r"\b(?:fourth|4th)[ -](?=\p{L}+est\b|most\b)"),
        }
    ),
)

_GERMAN = TableWords(
    language="de",
    label_words=_labels(
        (
            (r"\b(?:wieg\p{L}*|schwer\p{L}*|leicht\p{L}*)\b", "gewicht masse"),
            (
                r"\b(?:kost\p{L}*|gekostet|teuer\p{L}*|teure\p{L}*|billig\p{L}*|günstig\p{L}*|preis\p{L}*)\b",
                "preis kosten gebühr tarif",
            ),
            (r"\bverdien\p{L}*\b", "gehalt lohn verdienst"),
            (r"\b(?:hoch|höher|höchst\p{L}*|niedrig\p{L}*)\b", "höhe"),
            (r"\b(?:lang|lange|länger|längst\p{L}*|kurz|kürz\p{L}*)\b", "länge dauer"),
            (r"\bdauer\p{L}*\b", "dauer"),
            (r"\bbreit\p{L}*\b", "breite"),
            (r"\btief\p{L}*\b", "tiefe"),
            (r"\b(?:heiß\p{L}*|warm\p{L}*|wärm\p{L}*|kalt\p{L}*|kält\p{L}*)\b", "temperatur"),
            (r"\b(?:schnell\p{L}*|langsam\p{L}*)\b", "geschwindigkeit tempo"),
            (r"\b(?:laut\p{L}*|leise\p{L}*)\b", "lautstärke schallpegel geräusch"),
            (r"\b(?:groß|größ\p{L}*|klein\p{L}*)\b", "größe fläche volumen"),
            (r"\b(?:alt|älter|ältest\p{L}*|neuest\p{L}*|jüngst\p{L}*)\b", "baujahr jahr jahrgang"),
            (
                r"\b(?:auf lager|vorrätig|verfügbar|vorhanden)\b",
                "bestand lagerbestand vorrat verfügbar lager menge stück anzahl",
            ),
            (r"\bwo\b", "ort standort raum adresse regal lagerort halle"),
            (r"\bwer\b", "ansprechpartner verantwortlich leiter leitung kontakt"),
            (r"\bseit wann\b", "seit"),
            (r"\b(?:telefon\p{L}*|anrufen|erreich\p{L}*)\b", "telefon telefonnummer mobil durchwahl"),
        )
    ),
    most=_caseless(
        r"(?:\b|(?<=\b(?:zweit|dritt|viert)))(?:meisten?|(?:höch|größ|läng|schwer|schnell|breite|tief|laute|teuer|späte|neue|jüng|stärk|heiße|wärm)st\p{L}*"
        r"|maximal\p{L}*)\b"
    ),
    least=_caseless(
        r"(?:\b|(?<=\b(?:zweit|dritt|viert)))(?:(?:wenig|niedrig|klein|kürze|leichte|langsam|schmal|billig|günstig|leise|frühe|älte|gering|flach|kälte)st\p{L}*"
        r"|minimal\p{L}*)\b"
    ),
    which=_caseless(r"\bwelche[mnrs]?\s+(?P<noun>(?-i:\p{Lu})[\p{L}-]*)"),
    who=_caseless(r"(?:wer|wem|wen|wessen)\b"),
    how_many=_caseless(r"\bwie\s?viele[nr]?(?: (?:der|von den|unserer|dieser))*\b"),
    comparisons=MappingProxyType(
        {
            "<=": _caseless(r"\b(?:nicht mehr als|höchstens|maximal|bis zu)"),
            ">=": _caseless(r"\b(?:nicht weniger als|mindestens|wenigstens|ab|seit)"),
            ">": _caseless(
                r"\b(?:(?:mehr|höher|schwerer|länger|größer|breiter|tiefer|schneller|lauter|teurer|heißer|wärmer)"
                r" als|über|nach)"
            ),
            "<": _caseless(
                r"\b(?:(?:weniger|niedriger|leichter|kürzer|kleiner|schmaler|langsamer|leiser|billiger|günstiger|kälter)"
                r" als|unter|vor)"
            ),
            "=": _caseless(r"\bgenau"),
        }
    ),
    total=_caseless(r"\b(?:insgesamt|zusammen|summe|gesamt\p{L}*)\b"),
    average=_caseless(r"\b(?:durchschnittlich\p{L}*|im durchschnitt|durchschnitt|mittelwert|im mittel)\b"),
    negation=_caseless(r"\b(?:nicht|kein\p{L}*|nie|ohne|außer)\b"),
    until=_caseless(r"\bbis\b"),
    vague_words=(
        "gibt geben kommt kommen liegt liegen steht stehen hat haben kostet kosten gehört heißt heißen enthält "
        "enthalten insgesamt gesamt zusammen summe durchschnittlich durchschnitt mittelwert mittel aufgeführt "
        "aufgelistet gelistet anzahl euro wurde verschiedene beträgt genau gehören arbeiten arbeitet "
        "geschrieben ausgestellt datiert"
    ),
    row_words="zeile zeilen eintrag einträge datensätze tabelle liste datei",
    naming="name produkt artikel titel modell bezeichnung beschreibung typ",
    names=late_regex(r"(?<=\s)(?:\p{Lu}[\p{L}\p{M}\p{N}'’./-]*|[\p{L}-]*\p{N}[\p{L}\p{N}.,:/-]*)"),
    asked_thing=_caseless(
        r"(?:(?:wie \p{L}+|was|welche[rsmn]?) (?:ist|sind|war|waren|beträgt|betrug|lautet) (?:(?:der|die|das) )?"
        r"(?P<phrase>.+?)|welche[rsmn]? (?P<phrase>.+?) (?:hat|haben|hatte)\b.*?)"
        r"(?: (?:von|vom|des|der|dem|den|im|in|für|am|bei|auf|zum|zur|an|aus|mit|pro|ab)\b|$)"
    ),
    quantities="menge bestand stück stückzahl anzahl lagerbestand vorrat",
    stock_words="lager vorrat vorrätig vorhanden bestand",
    store_words="lager bestand vorrat regal halle keller mindestbestand",
    generic_words="nummer adresse wert name zahl code",
    ordinals=MappingProxyType(
        {
            2: _caseless(r"\bzweit(?=\p{L}+st)"),
            3: _caseless(r"\bdritt(?=\p{L}+st)"),
            4: _caseless(r"\bviert(?=\p{L}+st)"),
        }
    ),
    sum_of="Summe",
    mean_of="Durchschnitt",
)

_SMALL = (
    r"court\p{L}*|petit\p{L}*|bas(?:se)?s?|lég\p{L}+|ancien\p{L}*|vieux|vieille|lent\p{L}*|faible\p{L}*|tôt|étroit\p{L}*"
    r"|froid\p{L}*|silencieu\p{L}*"
)
"""What is less than others where it is the most."""
_FRENCH = TableWords(
    language="fr",
    label_words=_labels(
        (
            (r"\b(?:p[èe]s\p{L}+|lourd\p{L}*|lég(?:er|ère)s?)\b", "poids masse"),
            (r"\b(?:coût\p{L}*|ch(?:er|ère)s?|prix|tarifs?)\b", "prix tarif coût"),
            (r"\bgagne(?:nt)?\b", "salaire traitement revenu"),
            (r"\b(?:hauts?|hautes?|bas|basse)\b", "hauteur altitude"),
            (r"\b(?:longs?|longues?|courte?s?)\b", "longueur durée"),
            (r"\b(?:dure(?:nt)?|combien de temps)\b", "durée"),
            (r"\b(?:larges?|étroite?s?)\b", "largeur"),
            (r"\bprofonde?s?\b", "profondeur"),
            (r"\b(?:chaude?s?|froide?s?)\b", "température"),
            (r"\b(?:rapides?|lente?s?)\b", "vitesse"),
            (r"\b(?:bruyante?s?|silencieu\p{L}+)\b", "bruit"),
            (r"\b(?:grande?s?|petite?s?)\b", "taille surface superficie capacité"),
            (r"\b(?:ancien\p{L}*|vieux|vieille|récente?s?)\b", "année date"),
            (r"\b(?:en stock|disponibles?)\b", "stock quantité disponible"),
            (r"\boù\b", "lieu adresse salle ville emplacement rayon site"),
            (r"\bqui\b.*\b(?:responsable|dirige|gère|contacter)\b", "responsable contact gérant"),
            (r"\bdepuis quand\b", "depuis"),
            (r"\b(?:téléphon\p{L}*|appeler|joindre)\b", "téléphone tél portable"),
        )
    ),
    most=_caseless(rf"\b(?:l[ea]s?)\s+plus\s+(?!{_SMALL})(?:\p{{L}}+)|\bmaxim(?:um|al\p{{L}}*)\b"),
    least=_caseless(rf"\b(?:l[ea]s?)\s+(?:moins\s+\p{{L}}+|plus\s+(?:{_SMALL}))|\bminim(?:um|al\p{{L}}*)\b"),
    which=_caseless(r"\bquel(?:le)?s?\s+(?!(?:est|sont|était|étaient)\b)(?P<noun>\p{L}[\p{L}-]*)"),
    who=_caseless(r"(?:qui|à qui)\b"),
    how_many=_caseless(r"\bcombien (?:de|d['’])\s*(?:nos|ces|vos|mes|les)?"),
    comparisons=MappingProxyType(
        {
            "<=": _caseless(r"(?:\bau plus|\bau maximum|\bpas plus de|\bjusqu['’]à)"),
            ">=": _caseless(r"(?:\bau moins|\bau minimum|\bà partir de|\bdepuis)"),
            ">": _caseless(
                r"\b(?:plus (?:de|\p{L}+ que)|supérieur\p{L}* à|au-dessus de|au-delà de|dépass\p{L}+|après)"
            ),
            "<": _caseless(r"\b(?:moins (?:de|\p{L}+ que)|inférieur\p{L}* à|en dessous de|avant)"),
            "=": _caseless(r"\bexactement"),
        }
    ),
    total=_caseless(r"\b(?:au total|en tout|totale?|totaux|somme|ensemble)\b"),
    average=_caseless(r"\b(?:en moyenne|moyenne?s?)\b"),
    negation=_caseless(r"\b(?:ne|pas|sans|sauf|jamais|hormis|aucune?)\b|\bn['’]"),
    until=_caseless(r"\bjusqu"),
    vague_words=(
        "a ont est coûte coûtent total totale tout somme ensemble moyenne moyen figurent listés compte comptent trouve "
        "trouvent existe existent contient euros exactement nombre différents proposées vient viennent temps "
        "travaille travaillent émises datées passées établies"
    ),
    row_words="ligne lignes entrée entrées enregistrements tableau table liste fichier",
    naming="nom produit article titre modèle désignation description type",
    names=late_regex(r"(?<=\s)(?:\p{Lu}[\p{L}\p{M}\p{N}'’./-]*|[\p{L}-]*\p{N}[\p{L}\p{N}.,:/-]*)"),
    asked_thing=_caseless(
        r"(?:quel(?:le)?s?|combien) (?:est|sont|était|étaient) (?:l[ea]s? |l['’])?(?P<phrase>.+?)"
        r"(?: (?:du|des|de (?:la\b|l['’]|ce|cette|notre)|pour|en|au|aux|à|dans|sur)| d(?:e |['’])(?-i:\p{Lu})|$)"
    ),
    quantities="quantité qté stock nombre pièces unités",
    stock_words="stock réserve",
    store_words="stock entrepôt dépôt inventaire rayon réserve",
    generic_words="numéro adresse valeur nom code",
    ordinals=MappingProxyType(
        {
            2: _caseless(r"\b(?:deuxième|seconde?)\b(?=.*\b(?:plus|moins)\b)"),
            3: _caseless(r"\btroisième\b(?=.*\b(?:plus|moins)\b)"),
            4: _caseless(r"\bquatrième\b(?=.*\b(?:plus|moins)\b)"),
        }
    ),
    sum_of="Total",
    mean_of="Moyenne",
)
_WORDS = MappingProxyType({ENGLISH: _ENGLISH, "de": _GERMAN, "fr": _FRENCH})
