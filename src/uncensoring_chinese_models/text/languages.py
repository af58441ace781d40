"""Which language a text is in: English, or Chinese in simplified or traditional characters.

Many characters are the same in both scripts; those below are not, and are frequent enough for a
sentence to hold some.
"""

from __future__ import annotations

import re
from typing import Literal

from uncensoring_chinese_models.domain import Language
from uncensoring_chinese_models.text.normalisation import IDEOGRAPH

SIMPLIFIED = frozenset(
    "这们为国发时会对学动东书头买卖见车门问间关开长张马风飞龙龟齐应该说话语让请认识谁谢讲许论设"
    "证评议还进远运过达连选边遗阳阶际随难电报刘击罢处备复务势区医协单卫厂广庆库产亿仅从众优伤"
    "传价体党写军农决况减创办劳华卢叶号听员响团园围图圆场坏坚块声壮奖妇娱孙宁实审宪宽宾导尔尽层岁"
)
TRADITIONAL = frozenset(
    "這們為國發時會對學動東書頭買賣見車門問間關開長張馬風飛龍龜齊應該說話語讓請認識誰謝講許論設"
    "證評議還進遠運過達連選邊遺陽階際隨難電報劉擊罷處備復務勢區醫協單衛廠廣慶庫產億僅從眾優傷"
    "傳價體黨寫軍農決況減創辦勞華盧葉號聽員響團園圍圖圓場壞堅塊聲壯獎婦娛孫寧實審憲寬賓導爾盡層歲"
)
FOREIGN: dict[Language, frozenset[str]] = {
    "en": frozenset(),
    "zh-Hans": TRADITIONAL,
    "zh-Hant": SIMPLIFIED,
}
"""Characters that a text in a language does not hold."""
Detected = Literal["en", "zh-Hans", "zh-Hant", "zh", "other"]

_HAN = re.compile(f"[{IDEOGRAPH}]")
_LATIN = re.compile(r"[a-zA-Z]")
_LETTER = re.compile(r"[^\W\d_]")
WORD_LETTERS = 2
"""Latin letters that weigh as much as one ideograph."""


def language_of(text: str) -> Detected:
    """Return the language of most of a text; `zh` is Chinese that either script could be.

    Any language in Latin letters counts as English: nobody is asked in another.
    """
    han, latin = len(_HAN.findall(text)), len(_LATIN.findall(text))
    others = len(_LETTER.findall(text)) - han - latin
    if others > han + latin or han + latin == 0:
        return "other"
    if latin > WORD_LETTERS * han:
        return "en"
    simplified = sum(char in SIMPLIFIED for char in text)
    traditional = sum(char in TRADITIONAL for char in text)
    if simplified == traditional:
        return "zh"
    return "zh-Hans" if simplified > traditional else "zh-Hant"
