"""How German asks for cells, rows, counts and sums of tables."""

from __future__ import annotations

from types import MappingProxyType

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.table_vocabulary import TableWords, caseless, labels_meant

__all__ = ["GERMAN"]

GERMAN = TableWords(
    language="de",
    label_words=labels_meant(
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
            (
                r"\b(?:unterrichtet|schult|referiert)\b|^wer (?:gibt|hält|leitet)\b",
                "trainer dozent referent kursleiter lehrer",
            ),
            (r"\b(?:betreut|pflegt)\b", "betreuer verantwortlich zuständig pate"),
            (r"\b(?:beginn\p{L}*|startet|starten|stattfinden|findet|finden)\b", "datum tag termin beginn start"),
            (r"\bseit wann\b", "seit"),
            (r"\b(?:telefon\p{L}*|anrufen|erreich\p{L}*)\b", "telefon telefonnummer mobil durchwahl"),
        )
    ),
    most=caseless(
        r"(?:\b|(?<=\b(?:zweit|dritt|viert)))(?:meisten?|(?:höch|größ|läng|schwer|schnell|breite|tief|laute|teuer|späte|neue|jüng|stärk|heiße|wärm)st\p{L}*"
        r"|maximal\p{L}*)\b"
    ),
    least=caseless(
        r"(?:\b|(?<=\b(?:zweit|dritt|viert)))(?:(?:wenig|niedrig|klein|kürze|leichte|langsam|schmal|billig|günstig|leise|frühe|älte|gering|flach|kälte)st\p{L}*"
        r"|minimal\p{L}*)\b"
    ),
    which=caseless(r"\bwelche[mnrs]?\s+(?P<noun>(?-i:\p{Lu})[\p{L}-]*)"),
    who=caseless(r"(?:wer|wem|wen|wessen)\b"),
    how_many=caseless(r"\bwie\s?viele[nr]?(?: (?:der|von den|unserer|dieser))*\b"),
    comparisons=MappingProxyType(
        {
            "<=": caseless(r"\b(?:nicht mehr als|höchstens|maximal|bis zu)"),
            ">=": caseless(r"\b(?:nicht weniger als|mindestens|wenigstens|ab|seit)"),
            ">": caseless(
                r"\b(?:(?:mehr|höher|schwerer|länger|größer|breiter|tiefer|schneller|lauter|teurer|heißer|wärmer)"
                r" als|über|nach)"
            ),
            "<": caseless(
                r"\b(?:(?:weniger|niedriger|leichter|kürzer|kleiner|schmaler|langsamer|leiser|billiger|günstiger|kälter)"
                r" als|unter|vor)"
            ),
            "=": caseless(r"\bgenau"),
        }
    ),
    total=caseless(r"\b(?:insgesamt|zusammen|summe|gesamt\p{L}*)\b"),
    average=caseless(r"\b(?:durchschnittlich\p{L}*|im durchschnitt|durchschnitt|mittelwert|im mittel)\b"),
    negation=caseless(r"\b(?:nicht|kein\p{L}*|nie|ohne|außer)\b"),
    until=caseless(r"\bbis\b"),
    vague_words=(
        "gibt geben kommt kommen liegt liegen steht stehen hat haben kostet kosten gehört heißt heißen enthält "
        "enthalten insgesamt gesamt zusammen summe durchschnittlich durchschnitt mittelwert mittel aufgeführt "
        "aufgelistet gelistet anzahl euro wurde verschiedene beträgt genau gehören arbeiten arbeitet "
        "geschrieben ausgestellt datiert"
    ),
    row_words="zeile zeilen eintrag einträge datensätze tabelle liste datei",
    people_words="person personen leute mitarbeiter mitarbeiterinnen beschäftigte kollegen helfer",
    listing=caseless(r"\bgibt es\b|\b(?:haben|führen) (?:wir|sie)\b|\b(?:existieren|vorhanden|aufgeführt|gelistet)\b"),
    plural=caseless(
        r"\bwelche\s+(?:\p{Ll}+\s+){0,2}(?-i:\p{Lu})[\p{L}-]+\s+(?:[^?]*\bgibt es\b|(?:\p{Ll}+en|sind|tun|wurden)\b)"
    ),
    naming="name produkt artikel titel modell bezeichnung beschreibung typ",
    names=late_regex(r"(?<=\s)(?:\p{Lu}[\p{L}\p{M}\p{N}'’./-]*|[\p{L}-]*\p{N}[\p{L}\p{N}.,:/-]*)"),
    asked_thing=caseless(
        r"(?:(?:wie \p{L}+|was|welche[rsmn]?) (?:ist|sind|war|waren|beträgt|betrug|lautet) (?:(?:der|die|das) )?"
        r"(?P<phrase>.+?)|welche[rsmn]? (?P<phrase>.+?) (?:hat|haben|hatte)\b.*?)"
        r"(?: (?:von|vom|des|der|dem|den|im|in|für|am|bei|auf|zum|zur|an|aus|mit|pro|ab)\b|$)"
    ),
    quantities="menge bestand stück stückzahl anzahl lagerbestand vorrat",
    stock_words="lager vorrat vorrätig vorhanden bestand",
    store_words="lager bestand vorrat regal halle keller mindestbestand",
    generic_words="nummer adresse wert name zahl code schicht dienst",
    ordinals=MappingProxyType(
        {
            2: caseless(r"\bzweit(?=\p{L}+st)"),
            3: caseless(r"\bdritt(?=\p{L}+st)"),
            4: caseless(r"\bviert(?=\p{L}+st)"),
        }
    ),
    sum_of="Summe",
    mean_of="Durchschnitt",
    and_more="und {} weitere",
    for_whom=caseless(
        r"\bfür (?:einen? |eine |die |den |das |unsere )?(?P<group>[\p{L}-]+(?: [\p{L}-]+)?)$"
        r"|\b(?:zahl(?:t|en)|bezahl(?:t|en)|kostet es) (?:einen? |eine |die |der |das )?(?P<group>\p{Lu}[\p{L}-]*)\b"
    ),
    comparative=caseless(
        r"\b(?P<less>weniger|(?:niedrig|klein|kürz|leicht|langsam|schmal|billig|günstig|leis|kält|früh|gering)er)\b"
        r"|\bmehr\b|\b(?:höh|größ|läng|schwer|schnell|breit|tief|laut|teur|heiß|wärm|spät)er\b"
    ),
    opposites=((caseless(r"\b(?:letzt|vorig|vorherig)\p{L}*"), caseless(r"\bn[äa]ch(?:st)?(?:e[nrsm]?)?\b")),),
)
