"""English words for where somebody or something is from, and the country that each stands for."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from kgrag.late_patterns import late_regex

__all__ = ["DEMONYM", "countries_in", "located_in"]

_DEMONYMS = """Afghanistan: Afghan; Albania: Albanian; Algeria: Algerian; Angola: Angolan; Argentina: Argentine
Argentinian; Armenia: Armenian; Australia: Australian; Austria: Austrian; Azerbaijan: Azerbaijani; Bangladesh:
Bangladeshi; Belarus: Belarusian; Belgium: Belgian; Bolivia: Bolivian; Bosnia: Bosnian; Brazil: Brazilian; Bulgaria:
Bulgarian; Burma: Burmese; Cambodia: Cambodian; Cameroon: Cameroonian; Canada: Canadian; Chile: Chilean; China: Chinese;
Colombia: Colombian; Congo: Congolese; Costa Rica: Costa-Rican; Croatia: Croatian; Cuba: Cuban; Cyprus: Cypriot;
Czechia: Czech; Denmark: Danish; Ecuador: Ecuadorian; Egypt: Egyptian; Estonia: Estonian; Ethiopia: Ethiopian; Fiji:
Fijian; Finland: Finnish; France: French; Georgia: Georgian; Germany: German; Ghana: Ghanaian; Greece: Greek; Guatemala:
Guatemalan; Haiti: Haitian; Honduras: Honduran; Hong Kong: Hongkonger; Hungary: Hungarian; Iceland: Icelandic; India:
Indian; Indonesia: Indonesian; Iran: Iranian Persian; Iraq: Iraqi; Ireland: Irish; Israel: Israeli; Italy: Italian;
Ivory Coast: Ivorian; Jamaica: Jamaican; Japan: Japanese; Jordan: Jordanian; Kazakhstan: Kazakh Kazakhstani; Kenya:
Kenyan; Kuwait: Kuwaiti; Kyrgyzstan: Kyrgyz; Laos: Laotian; Latvia: Latvian; Lebanon: Lebanese; Libya: Libyan;
Lithuania: Lithuanian; Luxembourg: Luxembourgish; Malaysia: Malaysian; Mali: Malian; Malta: Maltese; Mexico: Mexican;
Moldova: Moldovan; Mongolia: Mongolian; Montenegro: Montenegrin; Morocco: Moroccan; Nepal: Nepalese Nepali; Netherlands:
Dutch; New Zealand: New-Zealander; Nicaragua: Nicaraguan; Nigeria: Nigerian; North Korea: North-Korean; Norway:
Norwegian; Pakistan: Pakistani; Palestine: Palestinian; Panama: Panamanian; Paraguay: Paraguayan; Peru: Peruvian;
Philippines: Filipino Filipina Philippine; Poland: Polish; Portugal: Portuguese; Puerto Rico: Puerto-Rican; Romania:
Romanian; Russia: Russian Soviet; Rwanda: Rwandan; Saudi Arabia: Saudi; Senegal: Senegalese; Serbia: Serbian; Singapore:
Singaporean; Slovakia: Slovak; Slovenia: Slovenian Slovene; Somalia: Somali; South Africa: South-African; South Korea:
South-Korean Korean; Spain: Spanish; Sri Lanka: Sri-Lankan; Sudan: Sudanese; Sweden: Swedish; Switzerland: Swiss; Syria:
Syrian; Taiwan: Taiwanese; Tanzania: Tanzanian; Thailand: Thai; Tunisia: Tunisian; Turkey: Turkish; Uganda: Ugandan;
Ukraine: Ukrainian; United Kingdom: British English Scottish Welsh Northern-Irish Britain England Scotland Wales
Northern-Ireland UK U.K.; United States: American America USA U.S. US U.S.A.; Uruguay: Uruguayan; Uzbekistan: Uzbek;
Venezuela: Venezuelan; Vietnam: Vietnamese; Yemen: Yemeni; Yugoslavia: Yugoslav Yugoslavian; Zambia: Zambian; Zimbabwe:
Zimbabwean"""
_PARTS = """United States: Alabama Alaska Arizona Arkansas California Colorado Connecticut Delaware Florida Hawaii Idaho
Illinois Indiana Iowa Kansas Kentucky Louisiana Maine Maryland Massachusetts Michigan Minnesota Mississippi Missouri
Montana Nebraska Nevada New-Hampshire New-Jersey New-Mexico New-York North-Carolina North-Dakota Ohio Oklahoma Oregon
Pennsylvania Rhode-Island South-Carolina South-Dakota Tennessee Texas Utah Vermont Virginia Washington West-Virginia
Wisconsin Wyoming; Canada: Alberta British-Columbia Manitoba New-Brunswick Newfoundland Nova-Scotia Ontario Quebec
Saskatchewan Nunavut Yukon; Australia: New-South-Wales Queensland South-Australia Tasmania Victoria Western-Australia"""


def _table(text: str) -> dict[str, str]:
    rows = (row.partition(":") for row in " ".join(text.split()).split(";"))
    return {word.replace("-", " "): country.strip() for country, _, words in rows for word in words.split()}


_BY_DEMONYM = _table(_DEMONYMS)
_BY_NAME = {country: country for country in _BY_DEMONYM.values()} | _BY_DEMONYM
_BY_PLACE = _BY_NAME | _table(_PARTS)


def _any_of(words: dict[str, str]) -> str:
    return "|".join(regex.escape(word).replace(r"\ ", r"[\s-]") for word in sorted(words, key=len, reverse=True))


DEMONYM = rf"(?:{_any_of(_BY_DEMONYM)})"
_COUNTRY = late_regex(rf"(?<![\p{{L}}-])(?:{_any_of(_BY_NAME)})(?![\p{{L}}]|[\s-]+born\b|[- ]{{1,2}}language\b)")
_PLACE = late_regex(rf"(?<![\p{{L}}-])(?:{_any_of(_BY_PLACE)})(?![\p{{L}}])")


def countries_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield the words of a text for a country and its people, each with the country.

    >>> list(countries_in("a Canadian-born American and French director"))
    [('American', 'United States'), ('French', 'France')]
    """
    yield from ((found[0], _BY_NAME[_spelt(found[0])]) for found in _COUNTRY.finditer(text))


def located_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield what ``countries_in`` does, and states and provinces with their countries."""
    yield from ((found[0], _BY_PLACE[_spelt(found[0])]) for found in _PLACE.finditer(text))


def _spelt(word: str) -> str:
    return " ".join(word.replace("-", " ").split())
