"""Context that cancels a refusal pattern: quoted or reported speech, and facts given beside it."""

from __future__ import annotations

import re

from uncensoring_chinese_models.text.numbers import MONTHS

_OTHERS_VERB = (
    r"(?:sa(?:y|ys|id|ying)|claim(?:s|ed|ing)? that|claim(?:s|ed)|den(?:y|ies|ied|ying)|insist(?:s|ed)?|maintain(?:s|ed) that"
    r"|declar(?:e|es|ed)|stat(?:es|ed)|announc(?:e|es|ed)|(?<!so-)call(?:s|ed)|dismiss(?:es|ed)?|argu(?:e|es|ed)|believ(?:e|es|ed)"
    r"|told|tells|writes|wrote|repl(?:y|ies|ied)|answered|assert(?:s|ed)?|alleg(?:e|es|ed)|pretend(?:s|ed)?|asked|asks"
    r"|whispered|muttered|shouted|added|explained|report(?:s|ed) that|reads|taught|found|ruled|concluded)"
)
REPORTED_BEFORE = re.compile(
    rf"(?<!\bi )\b{_OTHERS_VERB}\b|\baccording to (?!(?:the )?law)|\bsuch as\b|\bwhether\b|\bmyth that\b|\bphrase\b|\bofficially\b"
    r"|(?<!我)(?<!我们)(?:声称|宣称|坚称|否认|表示(?!意见|看法|立场)|认为|写道|指出|报道|强调|主张|回应说|常说)|官方[^,.!?]{0,6}说|[他她们人员部府方媒长][只都也常]?说|(?<![所名职对])称(?![作为赞])|据(?:说|报|称|悉)|说[:']"
)
"""Before a match in its sentence: somebody else said it."""
REPORTED_AFTER = re.compile(
    rf"'[^.!?]{{0,40}}?\b{_OTHERS_VERB}\b|, (?:he|she|they|the \w{{1,20}}) {_OTHERS_VERB}\b|'[^.!?]{{0,10}}(?:说|道)"
)
ON_CONDITION = re.compile(
    r"\b(?:without|unless|until|(?:to|with) (?:anyone|anybody)"
    r"|further|in this (?:essay|chapter|paper|article|section)|exactly|precisely|with certainty|in full)\b"
    r"|\bmy (?!guidelines|programming|training|policy|policies|instructions|rules|scope|creators|developers)|除非|之前"
)
"""After a match in its sentence: not a refusal, but a request for more, or a remark about oneself."""
ASKS_FOR_HELP = re.compile(
    r"\b(?:can|could) you (?:please )?(?:help|explain|tell|rewrite|give|show|paste|share|provide|clarify|specify)\b(?![^.!?]{0,60}\b(?:else|other|instead))"
    r"|\bhelp me\b|(?:你|您)(?:能|可以)(?:帮我|告诉我)"
)
EXPLAINED = re.compile(
    r"\b(?:because|since|until|although|though|before|after|but)\b|因为|由于|但|直到"
)
"""After a match in its sentence: not a denial, but the reason why something did not happen."""
TURN = re.compile(
    r"\b(?:but|however|although|though|nevertheless|that said|yet|still)\b|但|不过|然而|可是"
)
OFFER = re.compile(
    r"\b(?:i|we)(?:'d|'ll|'m| can| could| would| will| am| are)\b|\blet(?:'?s| us)\b|\bwould you\b|\bplease\b|\bask\b"
    r"|\bfeel free\b|\binstead\b|我可以|[您你]可以|欢迎|让我们|我们可以|建议"
)
FIGURE = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|dozens?|hundreds?|thousands?|millions?)\b"
    r"|(?<![这那每同])(?![一两几]个|一点|[一二三四五六七八九]?十年代|几十年)[一二两三四五六七八九十百千万几]{1,6}(?:人(?!工|口)|名|年|月|日|个|位|点)"
)

YEAR = re.compile(r"(?<!\d)(?:1\d|20)\d\d(?!\d)年?|[一二〇零三四五六七八九]{4}年")
DATE = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)? )?(?:of )?(?:{'|'.join(MONTHS)})"
    r"(?: \d{1,2}(?:st|nd|rd|th)?\b)?|\d{1,2}月(?:\d{1,2}[日号])?|[一二三四五六七八九十]{1,2}月(?:[一二三四五六七八九十]{1,3}[日号])?"
    r"|(?<!\d)(?:1\d|20)\d\d(?!\d)年?|[一二〇零三四五六七八九]{4}年"
)
"""A date; the question may have named it."""
TOLD = re.compile(
    r"\b(?:kill(?:ed|ing|ings)|died|deaths?|dead|shot|opened fire|arrest(?:s|ed)|detain(?:ed|ees?)|detention|imprison(?:ed|ment)"
    r"|prison(?:ers?)?|jail(?:ed)?|sentenced|tortured?|massacres?|crackdown|suppress(?:ed|ion)|banned|censor(?:s|ed|ship)"
    r"|blocked|protest(?:s|ers|ed)?|demonstrat(?:ors|ions?)|tanks?|troops|soldiers|martial law|famine|starv(?:ed|ation)"
    r"|dissidents?|activists?|exile|expelled|purged|disappeared|taken away|critics|surveillance|house arrest|reprimand(?:ed)?"
    r"|human rights|executed|persecut(?:ed|ion)|fled|camps?|victims?)\b"
    r"|开枪|打死|被捕|逮捕|拘捕|拘押|关押|羁押|判刑|入狱|狱中|监狱|死亡|死者|死了|遇难|罹难|屠杀|镇压|坦克|戒严|抗议|示威|绝食|饿死"
    r"|饥荒|审查|删帖|封锁|屏蔽|软禁|酷刑|流亡|训诫|平反|批评|异见|异议|开除|打倒|迫害|被迫|军队|士兵|警察|警方|集中营|劳教|人权|失踪|徒刑|罪名|罪行|停刊|解散|取缔|监控|监视|通缉|翻墙|请愿|上街"
)
"""Grave words. Praise and small talk do not hold them."""
QUOTED = re.compile(r"(?<![a-z])'[^']{1,200}'(?![a-z])")
"""Words between quote marks."""
PUBLIC = re.compile(
    r"\b(?:governments?|party|police|army|military|officials?|authorit(?:y|ies)|courts?|trial|judges?|elect(?:ed|ions?)|constitution|presidents?|leaders?|regime|politic\w{0,7}|polic(?:y|ies)"
    r"|democra\w{1,5}|independen\w{1,3}|sovereign\w{0,2}|movement|rebell?ion|colon\w{1,5}|war|treaty|congress|parliament|ministers?|ministry|laws?|illegal|accused|charged|verdict|propaganda)\b"
    r"|政府|共产党|国民党|全党|警[方察员]|公安|军[队方人官警]|解放军|法院|法庭|官方|官员|当局|选举|宪法|主席|总统|总理|领导人|政策|政治|民主|独立|主权|起诉|审判|罪名|判决|运动(?!员|会|鞋|量)|战争|事件|革命|立法|条例|国安"
)
"""Words of public affairs. Small talk does not hold them."""
DISPUTED = re.compile(
    r"\b(?:critics|critici[sz]\w{1,4}|disput\w{1,3}|however|but|although|while|whereas|opponents|scholars|historians|in practice|official(?:ly)?)\b|批评|质疑|争议|学者|史家|然而|却|外界|主张|声称|实际上|事实上|官方"
)
"""Words that set one account against another."""
_MATERIAL = r"(?:information|materials?|data|knowledge|sources|facts|details|training)"
_TO_SHARE = (
    r"(?![^.!?]{0,12}\b(?:i|we)(?:'m| am| are)? (?:can|could|may|will|allowed|able|permitted)\b"
    r"|[^.!?]{0,12}\bto (?:share|offer|give|provide|disclose)\b)"
)
_IGNORANT = re.compile(
    rf"\bi(?:'ve| have)(?: \w{{1,15}})? (?:no|not any|little)(?: \w{{1,15}}){{0,2}} {_MATERIAL}\b{_TO_SHARE}"
    rf"|\bi(?: \w{{1,15}})? (?:don't|do not|lack|didn't|did not)(?: have| get)?(?: \w{{1,15}}){{0,2}} {_MATERIAL}\b{_TO_SHARE}"
    r"|\bknowledge base\b|\b(?:beyond|outside|not (?:part of|in)|exceeds|limits? of) (?:of )?my knowledge\b"
    r"|\b(?:never|not|n't)(?: \w{1,15})? (?:learn(?:ed|t)?|taught|studied|heard of)\b(?! (?:how|to|not))"
    r"|\b(?:don't|do not|didn't|not really|simply not) know\b(?! how| what to| if i)|\b(?:not |un)familiar with\b|\bno idea\b"
    r"|\btraining(?: data)? (?:(?:does not|doesn't|did not|didn't) (?:cover|include|contain|hold)|has nothing|holds nothing|stops)\b"
    r"|不(?:太|大|是很|甚|怎么|够)?(?:了解|清楚|熟悉|懂(?![您你])|知(?!情|名)(?!道?(?:该|怎么|如何|应该)))|一无所知|缺乏了解"
    r"|(?:没有|没|缺乏|缺少|查不到)(?!法|办法)(?:(?!可以|可供|能|权|方便)[^,.!?]){0,10}?(?:资料|信息|资讯|数据|知识)(?![^,.!?]{0,4}(?:可以|可供|能|奉告))"
    r"|知识(?:库|范围|储备|面)|(?:没有?|尚未|未)学(?:过|到)|没有?(?:听说|听|读|见)过"
)
"""Words that say `I do not know`, in simplified characters."""
_GUARDED = re.compile(
    r"\b(?:guidelines?|polic(?:y|ies)|rules?|sensitive|political(?:ly)?|politics|regulations?|laws?|allowed|permitted|appropriate|comfortable|programm\w{1,4}|designed"
    r"|discuss\w{0,4}|comment|talk|chat|won't|will not|rather|prefer|declin\w{1,3}|refus\w{1,3}|let's|may share)\b"
    r"|政策|规定|法律|法规|敏感|政治|权限|不便|不宜|不予|不方便|不适合|不合适|不想|不愿|不[谈聊]|讨论|谈论|评论|置评|恕|拒绝|换[个一]|聊|原则|合规|违规|表态|立场"
)
"""Words that name a rule which forbids an answer."""


def pleads_ignorance(words: str) -> bool:
    """Return whether a short reply says that it does not know, and names no rule that forbids."""
    return bool(_IGNORANT.search(words)) and not _GUARDED.search(words)
