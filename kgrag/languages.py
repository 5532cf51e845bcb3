"""Languages of texts: which one a text is in, and the words, stems and letters that are compared in it.

==========  ============  =======================================================
language    code          what is known of it
==========  ============  =======================================================
English     ``en``        everything; what a text of no other known language is
German      ``de``        stop words, stems, questions, abbreviations, dates
French      ``fr``        the same
Spanish     ``es``        stop words and stems
Italian     ``it``        the same
Portuguese  ``pt``        the same
Dutch       ``nl``        the same
==========  ============  =======================================================

A language is recognised by its function words ("the", "und", "les"), of which running text is a third: no library and
no model. Stems are Snowball's.

Deviations:
    Words that two languages share ("de", "was", "in") count for each; a text is in another language than English only
    where that has half as many again as English, and as any other.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

from kgrag.late_patterns import late_regex

__all__ = ["ENGLISH", "LANGUAGES", "STOP_WORDS", "folded", "language_named", "language_of", "stems"]

ENGLISH = "en"
LANGUAGES = MappingProxyType(
    {
        "en": "english",
        "de": "german",
        "fr": "french",
        "es": "spanish",
        "it": "italian",
        "pt": "portuguese",
        "nl": "dutch",
    }
)
"""Code of each language and the name of its Snowball stemmer."""

_ENGLISH_WORDS = """a about after all also an and any are as at be because been before but by can could did do does
each for from had has have he her his how i if in into is it its may more must no not of on one only or other our out
over same she should so some such than that the their them then there these they this those through to under up use
used using was we were what when where which while who whom whose why will with without would you your"""
_GERMAN_WORDS = """ab aber alle allem allen aller alles als also am an andere anderem anderen anderer anderes auch auf
aus bei beim bin bis bist bzw da dabei dadurch dafür dagegen daher damit danach dann daran darauf daraus darf darin
darüber das dass davon dazu daß dein deine dem den denen denn der deren des deshalb dessen die dies diese diesem
diesen dieser dieses doch dort du durch dürfen ein eine einem einen einer eines einige einigen einiger er es etwa
etwas euch falls für ganz gegen gibt hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem
ihren ihrer ihres im immer in indem ins ist ja jede jedem jeden jeder jedes jedoch jene kann kein keine keinem keinen
keiner können könnte lässt man manche mehr mein meine mit muss musst muß müssen nach nachdem nein nicht nichts noch
nun nur ob oder ohne sehr sein seine seinem seinen seiner seit sich sie sind so sobald sodass solche solchen soll
sollen sollte sollten sondern sonst sowie statt um und uns unser unsere unter usw viel viele vom von vor wann war
waren warum was weder wegen weil welche welchem welchen welcher welches wem wen wenn wer werden weshalb wessen wie
wieder wieso wieviel will wir wird wo wobei wodurch wofür woher wohin womit woran worauf woraus worin worüber wovon
wozu wurde wurden während würde zu zum zur zwar zwischen über"""
_FRENCH_WORDS = """afin ai ainsi alors après as au aucun aucune aussi autre autres aux avant avec avez avoir avons
ayant ce ceci cela celle celles celui ces cet cette ceux chaque chez ci comme comment combien dans de depuis des donc
dont du duquel elle elles en encore entre es est et eu eux fait faire faut font il ils je jusqu la laquelle le lequel
les lesquelles lesquels leur leurs lors lorsqu lorsque lui là ma mais me mes moi moins mon même mêmes ne ni non nos
notre nous on ont ou où oui par parce pas pendant peu peut peuvent plus pour pourquoi pouvez puis puisqu puisque qu
quand que quel quelle quelles quelque quelques quels qui quoi sa sans se sera seront ses si son sont sous soit sur ta
te tes toi ton tous tout toute toutes très tu un une vers voici voilà vos votre vous y à ça été était étaient êtes
être"""
_SPANISH_WORDS = """a adónde al algo algunas algunos ante antes aquel aquella así aunque cada como con contra cual
cuales cuando cuanto cuántas cuánto cuántos cuál cuáles cuándo cómo de del desde donde dos durante dónde e el ella
ellas ellos en entre era eran es esa esas ese eso esos esta estaba estado estar estas este esto estos está están fue
fueron ha haber había han hasta hay la las le les lo los me mi mientras mis mucho muchos muy más ni no nos o os otra
otras otro otros para pero poco por porque pues puede pueden que quien quienes qué quién sea según ser si sin sobre
son su sus sí también tan tanto te tiene tienen todas todo todos tu tus un una uno unos usted y ya"""
_ITALIAN_WORDS = """a abbiamo ad agli ai al alla alle allo anche ancora avere aveva c che chi ci ciascuno come con
cosa così cui da dagli dai dal dalla dalle dallo degli dei del dell della delle dello di dopo dove dunque e ed era
erano essere è fa fra gli ha hanno ho i il in io l la le lei lo loro lui ma mentre mi mia mio molto ne negli nei nel
nella nelle nello noi non nostro o ogni oppure per perché più poi possono prima può qual quale quali quando quanta
quante quanti quanto quella quelle quelli quello questa queste questi questo qui sarà se sei senza si sia solo sono
sopra sotto stato su sua sugli sui sul sulla sulle suo suoi tra tutte tutti tutto un una uno viene vi voi vostro"""
_PORTUGUESE_WORDS = """a ao aos aquela aquele as até cada com como da das de dela dele depois desde deve do dos e ela
elas ele eles em enquanto entre era essa essas esse esses esta estas este estes está estão eu foi foram há isso isto
já lhe lo mais mas me mesmo meu minha muito na nas nem no nos nossa nosso num numa não nós o onde os ou outra outras
outro outros para pela pelas pelo pelos pode podem por porque quais qual quando quanta quantas quanto quantos que quem
se sem ser será seu seus sobre somente sua suas são só também te tem tinha toda todas todo todos tu têm um uma você
vocês à às é"""
_DUTCH_WORDS = """aan al alle alleen als ander andere bij binnen daar daarom dan dat de deze die dit doen door dus een
eens en er ge geen geweest haar had heb hebben heeft hem het hier hij hoe hoeveel hoewel hun ieder iemand iets ik in
indien is ja je kan kon kunnen kunt maar me meer men met mij mijn moet moeten na naar niet niets nog nu of om omdat
ons onder ook op over reeds sinds te tegen ten ter terwijl toch toen tot tussen u uit uw van veel via volgens voor
waar waarin waarom wanneer want waren was wat we wel welk welke werd wie wij wil worden wordt zal ze zelf zich zij
zijn zo zonder zou zullen"""

STOP_WORDS = MappingProxyType(
    {
        code: frozenset(text.split())
        for code, text in (
            ("en", _ENGLISH_WORDS),
            ("de", _GERMAN_WORDS),
            ("fr", _FRENCH_WORDS),
            ("es", _SPANISH_WORDS),
            ("it", _ITALIAN_WORDS),
            ("pt", _PORTUGUESE_WORDS),
            ("nl", _DUTCH_WORDS),
        )
    }
)
"""Function words of each language, those that ask with them; of English only those that tell it from others."""

_ASKING = MappingProxyType(
    {
        word: code
        for code, text in (
            ("de", "wann warum weshalb welche welchem welchen welcher welches wem wen wer wessen wie wieso wieviel wo"),
            ("de", "wodurch wofür woher wohin womit wozu"),
            ("fr", "combien comment où pourquoi qu quand quel quelle quelles quels qui"),
            ("es", "cómo cuál cuándo cuánto cuántos dónde qué quién"),
            ("it", "chi dove perché quanti quali"),
            ("pt", "onde quais quem quantos"),
            ("nl", "hoe hoeveel waarom wanneer welke"),
        )
        for word in text.split()
    }
    | dict.fromkeys(
        (
            f"was {verb}"
            for verb in [
                "ist",
                "sind",
                "bedeutet",
                "heißt",
                "macht",
                "kostet",
                "kosten",
                "gilt",
                "passiert",
                "enthält",
                "gehört",
            ]
        ),
        "de",
    )
    | dict.fromkeys(("qu est", "que signifie", "que fait", "est ce"), "fr")
)
"""Words with which a question of one language begins, by themselves or two, each of a single one."""
_WORD = late_regex(r"(?<![\p{L}\p{M}\p{N}./@_])[\p{L}\p{M}]{2,}(?![\p{L}\p{M}\p{N}/@_]|\.\p{L})")
_MAX_CHARACTERS = 20_000  # of a text that are looked at
_LEAD = 2.5
_MIN_DIFFERENT = 2  # words of a language that are not English as well; one may be a name
_MIN_SHARE = 0.12  # of the words of a text
_MARKED = MappingProxyType({"ß": "de", "œ": "fr", "ñ": "es", "ã": "pt", "õ": "pt", "¿": "es"})


@lru_cache(maxsize=4096)
def language_of(text: str, default: str = ENGLISH) -> str:
    """Return the code of the language that a text is in; ``default`` where its words do not tell.

    >>> language_of("Wie lange ist der Schlüssel?"), language_of("Qui a écrit ce guide ?"), language_of("dpkg -i x.deb")
    ('de', 'fr', 'en')
    """
    words = Counter(word.lower() for word in _WORD.findall(text[:_MAX_CHARACTERS]))
    counts: Counter[str] = Counter()
    different: Counter[str] = Counter()
    for word, count in words.items():
        for code in _languages_of_word(word):
            counts[code] += count
            different[code] += code == ENGLISH or word not in STOP_WORDS[ENGLISH]
    (best, most), *others = counts.most_common() or [(default, 0)]
    first = list(words)[:2]
    asking = _ASKING.get(first[0], "") if first else ""
    if asking and not counts[ENGLISH] and most <= counts[asking]:
        return asking
    if " ".join(first) in _ASKING:
        return _ASKING[" ".join(first)]
    rivals = [_LEAD * count if code == ENGLISH else count + 1 for code, count in others]
    is_clear = different[best] >= _MIN_DIFFERENT and most >= _MIN_SHARE * words.total()
    return best if is_clear and (best == ENGLISH or most >= max(rivals, default=0)) else default


@cache
def _tables() -> dict[str, tuple[str, ...]]:
    words = frozenset[str]().union(*STOP_WORDS.values())
    return {word: tuple(code for code, those in STOP_WORDS.items() if word in those) for word in words}


def _languages_of_word(word: str) -> Sequence[str]:
    return _tables().get(word, ()) or tuple({_MARKED[letter] for letter in word if letter in _MARKED})


def language_named(value: object) -> str:
    """Return the code of the language that a text such as ``de``, ``de_AT`` or ``German`` names; "" for no known one.

    >>> language_named("de-AT"), language_named("French"), language_named("tlh")
    ('de', 'fr', '')
    """
    name = str(value).strip().casefold()
    code = name.replace("_", "-").partition("-")[0]
    by_name = {english: each for each, english in LANGUAGES.items()}
    return code if code in LANGUAGES else by_name.get(name, "")


def stems(words: Sequence[str], language: str) -> list[str]:
    """Return the Snowball stems of lower-case words; of other languages than English without accents.

    >>> stems(["pakete", "häuser"], "de"), stems(["répertoires"], "fr")
    (['pak', 'haus'], ['repertoir'])
    """
    found = list(_stemmer(language).stemWords(list(words)))
    return found if language == ENGLISH else [folded(stem) for stem in found]


def folded(word: str) -> str:
    """Return a word without accents, as it is typed where there is no key for them.

    >>> folded("répertoire"), folded("größe")
    ('repertoire', 'grosse')
    """
    if word.isascii():
        return word
    bare = unicodedata.normalize("NFKD", word.replace("ß", "ss").replace("œ", "oe"))
    return "".join(mark for mark in bare if not unicodedata.combining(mark)) or word


@cache
def _stemmer(language: str) -> Any:
    """Return the stemmer of a language, imported at first use since most commands do not need it."""
    from Stemmer import Stemmer

    return Stemmer(LANGUAGES[language])
