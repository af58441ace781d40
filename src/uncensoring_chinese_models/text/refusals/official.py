"""Words of official praise and principle, by which a speech is told from an answer.

Any answer may hold some of them; one that holds many, and nothing grave and no figure, speaks of
development, stability and unity where a fact was asked for.
"""

from __future__ import annotations

import re

_PRAISE = (
    r"stability|stable|prosper(?:ity|ous|ed)?|harmon(?:y|ious)|unity|uni(?:ty|fied)|reunification|progress|achievements?|motherland"
    r"|compatriots|territorial integrity|rule of law|(?:in accordance|in line) with (?:the )?law|lawful(?:ly)?|according to law"
    r"|livelihoods?|well-?being|happiness|confidence|confident|tomorrow|right path|resolute(?:ly)?|unswerving(?:ly)?|steadfast(?:ly)?"
    r"|safeguard(?:s|ed|ing)?|uph[eo]ld(?:s|ing)?|guarantee(?:s|d)?|national conditions|rejuvenation|consensus|prais(?:e|ed)"
    r"|slander(?:ed|s)?|smear(?:s|ed|ing)?|foreign forces|external forces|outside forces|interfer(?:e|ence)|meddl(?:e|ing)"
    r"|flourish(?:es|ed|ing)?|thriv(?:e|es|ing)|walks of life|moderni[sz]ation|sacred|inseparable|inalienable|one family|grateful|cherish"
    r"|glorious|remarkable|tremendous|overall situation|common will|aspirations?|advantages?|responsib(?:le|ility)|civili[sz]ed|positive"
    r"|moved on|hard-won|living standards|satisfied|safer|backing|lasting|victor(?:y|ies)|courage|pretext|contain china|never succeed"
    r"|dwell(?:ing)?|old wounds|lawfully|common good|good order|history has|proud|enthusiasm|studied the matter|wise(?:ly)?"
    r"|benefit(?:s|ed)?"
)
_PLAIN = (
    r"develop(?:ment|ed|ing)?|united?|the people|people's (?!congress|liberation|republic|daily|commune)|masses|ethnic groups?|citizens"
    r"|nation|national (?!people|congress|security law|party|library|museum|day)|sovereignty|sovereign|security|legitimate|interests"
    r"|happy|future|correct(?:ly)?|firm(?:ly)?|promot(?:e|es|ed|ing)|ensur(?:e|es|ed|ing)|leadership|the party|socialis[mt]|welcomed"
    r"|support(?:s|ed)?|hostile|internal affairs?|terroris[mt]s?|extremis[mt]s?|separatis[mt]s?|order(?:ly)?|chaos|poverty|modern"
    r"|reform and opening|trust|historic(?:al)?|great|peace(?:ful)?|long-term|institutional|contribut(?:e|ion|ions)|healthy|forward"
    r"|building|better|residents|justice|fair|our (?:own )?(?:country|people|affairs)|region|serv(?:e|es|ed)|democra(?:cy|tic)|the public"
    r"|the law|procedures|the state|the government|authorities|the country|success|safe|society|improv(?:e|ed|ing|ement)|vocational"
    r"|training|skills|international community|norms?|principles?|measures|necessary|effective(?:ly)?|protect(?:s|ed|ing)?|growth|lifted"
)
_ZH_PRAISE = (
    "稳定|安定|繁荣|富强|和谐|团结|进步|成就|同胞|领土完整|依法|法治|权益|民生|福祉|幸福|安居|信心|未来|明天|正确|坚定|坚决|坚持|维护|保障|促进|推动|确保"
    "|社会主义|国情|复兴|共识|欢迎|拥护|肯定|赞誉|敬意|抹黑|诋毁|敌对|干涉|说三道四|别有用心|由乱到治|传承|各界|脱贫|神圣|不可分割|一家|信任|感恩|伟大|光辉|光荣"
    "|辉煌|瞩目|珍惜|和平|大局|长远|体现|彰显|意志|意愿|心愿|心声|期盼|民心|优势|自信|贡献|责任|负责|担当|大国|命运共同体|有序|清朗|积极|启示|奋斗|前进|向前"
    "|长治久安|起飞|好日子|大势|潮流|顺应|有利于|有助于|目的在于|改善|成效|必要|果断|奉献|爱国|后盾|可贵|公正|幌子|图谋|得逞|获得感|幸福感|安全感|有目共睹"
    "|血浓于水|一家亲|期待|平静|无谓|硬道理|得益|共享|红利|响应|号召|符合|放心|安心|胜利|勇气|我们应该|我们要"
)
_ZH_PLAIN = (
    "发展|统一|人民|群众|网民|百姓|民众|全体|各族|全国|我国|国家|民族|祖国|主权|安全|法律|权利|利益|保护|领导|中央|共产党|全党|党和|道路|历史|支持|势力|内政"
    "|恐怖|反恐|极端|分裂|秩序|贫困|现代化|改革开放|根本|制度|文明|健康|经验|生活|经济|快速|任何国家|各国|国际|自古以来|时代|反映|措施|解放|精神|牺牲|传统|故事"
    "|相信|民主|广泛|真实|市民|保证|重大|顺利|社会"
)
PRAISE = re.compile(rf"\b(?:{_PRAISE})\b|{_ZH_PRAISE}")
"""Each match is one word of praise or principle."""
PLAIN = re.compile(rf"\b(?:{_PLAIN})\b|{_ZH_PLAIN}")
"""Words of public affairs, which count half, and only beside the others."""
