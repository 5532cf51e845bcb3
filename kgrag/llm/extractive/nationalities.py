"""Countries and what their people are called, so that "Iranian" and "Iran" are one country."""

from __future__ import annotations

from typing import Final

import regex

__all__ = ["PEOPLES", "countries_in", "country_of"]

_LINES: Final = """Afghanistan:Afghan|Albania:Albanian|Algeria:Algerian|Andorra:Andorran|Angola:Angolan
Argentina:Argentine,Argentinian|Armenia:Armenian|Australia:Australian|Austria:Austrian|Azerbaijan:Azerbaijani
Bahrain:Bahraini|Bangladesh:Bangladeshi|Barbados:Barbadian|Belarus:Belarusian|Belgium:Belgian|Benin:Beninese
Bolivia:Bolivian|Bosnia and Herzegovina:Bosnian|Botswana:Botswanan|Brazil:Brazilian|Bulgaria:Bulgarian
Burma:Burmese|Cambodia:Cambodian|Cameroon:Cameroonian|Canada:Canadian|Chile:Chilean
China:Chinese,People's Republic of China|Colombia:Colombian|Congo:Congolese|Costa Rica:Costa Rican
Croatia:Croatian|Cuba:Cuban|Cyprus:Cypriot|Czech Republic:Czech,Czechoslovak|Denmark:Danish
Dominican Republic:Dominican|Ecuador:Ecuadorian|Egypt:Egyptian|El Salvador:Salvadoran|Eritrea:Eritrean
Estonia:Estonian|Ethiopia:Ethiopian|Fiji:Fijian|Finland:Finnish|France:French|Gabon:Gabonese|Gambia:Gambian
Georgia:Georgian|Germany:German,West German,East German|Ghana:Ghanaian|Greece:Greek|Guatemala:Guatemalan
Guinea:Guinean|Haiti:Haitian|Honduras:Honduran|Hong Kong:Hong Kong|Hungary:Hungarian|Iceland:Icelandic
India:Indian,Bollywood,Tamil,Telugu,Malayalam,Hindi,Kannada,Marathi,Bengali,Punjabi|Indonesia:Indonesian
Iran:Iranian,Persian|Iraq:Iraqi|Ireland:Irish|Israel:Israeli|Italy:Italian|Ivory Coast:Ivorian|Jamaica:Jamaican
Japan:Japanese|Jordan:Jordanian|Kazakhstan:Kazakh,Kazakhstani|Kenya:Kenyan|Kosovo:Kosovan|Kuwait:Kuwaiti
Kyrgyzstan:Kyrgyz|Laos:Laotian|Latvia:Latvian|Lebanon:Lebanese|Liberia:Liberian|Libya:Libyan
Lithuania:Lithuanian|Luxembourg:Luxembourgish|Madagascar:Malagasy|Malawi:Malawian|Malaysia:Malaysian|Mali:Malian
Malta:Maltese|Mexico:Mexican|Moldova:Moldovan|Monaco:Monegasque|Mongolia:Mongolian|Montenegro:Montenegrin
Morocco:Moroccan|Mozambique:Mozambican|Namibia:Namibian|Nepal:Nepalese,Nepali|Netherlands:Dutch
New Zealand:New Zealand,New Zealander|Nicaragua:Nicaraguan|Niger:Nigerien|Nigeria:Nigerian
North Korea:North Korean|North Macedonia:Macedonian|Norway:Norwegian|Oman:Omani|Pakistan:Pakistani
Palestine:Palestinian|Panama:Panamanian|Paraguay:Paraguayan|Peru:Peruvian|Philippines:Filipino,Philippine
Poland:Polish|Portugal:Portuguese|Puerto Rico:Puerto Rican|Qatar:Qatari|Romania:Romanian|Russia:Russian,Soviet
Rwanda:Rwandan|Saudi Arabia:Saudi|Senegal:Senegalese|Serbia:Serbian,Yugoslav|Sierra Leone:Sierra Leonean
Singapore:Singaporean|Slovakia:Slovak|Slovenia:Slovene,Slovenian|Somalia:Somali|South Africa:South African
South Korea:South Korean,Korean|Spain:Spanish,Spaniard|Sri Lanka:Sri Lankan|Sudan:Sudanese|Sweden:Swedish
Switzerland:Swiss|Syria:Syrian|Taiwan:Taiwanese|Tajikistan:Tajik|Tanzania:Tanzanian|Thailand:Thai|Togo:Togolese
Trinidad and Tobago:Trinidadian,Trinidad and Tobago|Tunisia:Tunisian|Turkey:Turkish,Ottoman|Turkmenistan:Turkmen
Uganda:Ugandan|Ukraine:Ukrainian|United Arab Emirates:Emirati
United Kingdom:British,English,Scottish,Welsh,England,Scotland,Wales
United Kingdom:Great Britain,Britain,UK,U.K.,Northern Ireland,Northern Irish
United States:American,US,U.S.,USA,U.S.A.,United States of America|Uruguay:Uruguayan|Uzbekistan:Uzbek
Venezuela:Venezuelan|Vietnam:Vietnamese|Yemen:Yemeni|Zambia:Zambian|Zimbabwe:Zimbabwean"""

PEOPLES: Final[dict[str, str]] = {
    form: country
    for entry in _LINES.replace("\n", "|").split("|")
    for country, _, forms in [entry.partition(":")]
    for form in (country, *forms.split(","))
}
"""Every form that is known -> its country."""
_ANY_FORM = "|".join(sorted(map(regex.escape, PEOPLES), key=len, reverse=True))
_FORM = regex.compile(rf"(?<![\p{{L}}\p{{M}}])(?:{_ANY_FORM})(?![\p{{L}}\p{{M}}])")


def country_of(form: str) -> str:
    """Return the country of a form, "" for none.

    >>> country_of("Scottish"), country_of("Atlantis")
    ('United Kingdom', '')
    """
    return PEOPLES.get(form.removeprefix("the "), "")


def countries_in(text: str) -> list[str]:
    """Return the forms in a text in order.

    >>> countries_in("A Welsh film made in France")
    ['Welsh', 'France']
    """
    return [match[0] for match in _FORM.finditer(text)]
