"""The names of countries, and the adjectives that belong to them.

They form a closed list, as months do. The name of a country often only says where something is.
"""

from __future__ import annotations

from uncensoring_chinese_models.text import singular


def _keys(names: str) -> frozenset[str]:
    """Return the names as keys; they are separated by commas."""
    listed = " ".join(names.split()).split(", ")
    return frozenset(" ".join(map(singular, name.split())) for name in listed)


COUNTRIES = _keys(
    "afghanistan, albania, algeria, america, andorra, angola, argentina, armenia, australia, austria, "
    "azerbaijan, bahamas, bahrain, bangladesh, barbados, belarus, belgium, belize, benin, bhutan, "
    "bolivia, bosnia, botswana, brazil, britain, brunei, bulgaria, burkina faso, burma, burundi, "
    "cambodia, cameroon, canada, cape verde, chad, chile, china, colombia, comoros, congo, costa rica, "
    "croatia, cuba, cyprus, czechia, czechoslovakia, czech republic, denmark, djibouti, dominica, "
    "dominican republic, east germany, east timor, ecuador, egypt, el salvador, england, eritrea, "
    "estonia, eswatini, ethiopia, fiji, finland, france, gabon, gambia, georgia, germany, ghana, great "
    "britain, greece, grenada, guatemala, guinea, guyana, haiti, honduras, hong kong, hungary, iceland, "
    "india, indonesia, iran, iraq, ireland, israel, italy, ivory coast, jamaica, japan, jordan, "
    "kazakhstan, kenya, kiribati, korea, kosovo, kuwait, kyrgyzstan, laos, latvia, lebanon, lesotho, "
    "liberia, libya, liechtenstein, lithuania, luxembourg, macau, macedonia, madagascar, malawi, "
    "malaysia, maldives, mali, malta, mauritania, mauritius, mexico, micronesia, moldova, monaco, "
    "mongolia, montenegro, morocco, mozambique, myanmar, namibia, nauru, nepal, netherlands, new "
    "zealand, nicaragua, niger, nigeria, north korea, north macedonia, norway, oman, pakistan, palau, "
    "palestine, panama, paraguay, peru, philippines, poland, portugal, qatar, romania, russia, rwanda, "
    "samoa, san marino, saudi arabia, scotland, senegal, serbia, seychelles, sierra leone, singapore, "
    "slovakia, slovenia, somalia, south africa, south korea, south sudan, soviet union, spain, sri "
    "lanka, sudan, suriname, sweden, switzerland, syria, taiwan, tajikistan, tanzania, thailand, togo, "
    "tonga, trinidad, tunisia, turkey, turkmenistan, tuvalu, uganda, ukraine, united arab emirates, "
    "united kingdom, united states, united states of america, uruguay, us, usa, uk, uzbekistan, vanuatu, "
    "vatican, venezuela, vietnam, wales, west germany, yemen, yugoslavia, zambia, zimbabwe"
)
DEMONYMS = _keys(
    "arab, azeri, british, burmese, croat, cypriot, czech, danish, dutch, filipino, finnish, french, "
    "german, greek, iraqi, irish, israeli, kazakh, kuwaiti, kyrgyz, lao, manx, omani, pakistani, polish, "
    "qatari, saudi, scottish, serb, slovak, somali, soviet, spanish, swedish, swiss, tajik, thai, "
    "turkish, turkmen, uzbek, welsh, yemeni"
)
"""Adjectives of countries that the endings of `mentions` do not cover."""
