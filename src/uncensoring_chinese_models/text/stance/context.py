"""Context that takes the force from a wording: quoted or reported speech, and facts given beside it."""

from __future__ import annotations

import re

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
