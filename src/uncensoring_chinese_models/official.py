"""Words of official praise and principle, by which a speech is told from an answer.

Any answer may hold some of them; one that holds many, and nothing grave and no figure, speaks of
development, stability and unity where a fact was asked for.
"""

from __future__ import annotations

import re

_ENGLISH = (
    r"develop(?:ment|ed|ing)?|stability|stable|prosper(?:ity|ous|ed)?|harmon(?:y|ious)|unity|united?|uni(?:ty|fied)|reunification|progress|achievements?|the people|people's (?!congress|liberation|republic|daily|commune)|masses|ethnic groups?"
    r"|citizens|nation|national (?!people|congress|security law|party|library|museum|day)|motherland|compatriots|sovereignty|sovereign|territorial integrity|security|rule of law|(?:in accordance|in line) with (?:the )?law|lawful(?:ly)?|according to law|legitimate"
    r"|interests|livelihoods?|well-?being|happy|happiness|confidence|confident|future|tomorrow|correct(?:ly)?|right path|firm(?:ly)?|resolute(?:ly)?|unswerving(?:ly)?|steadfast(?:ly)?|safeguard(?:s|ed|ing)?"
    r"|uph[eo]ld(?:s|ing)?|promot(?:e|es|ed|ing)|ensur(?:e|es|ed|ing)|guarantee(?:s|d)?|leadership|the party|socialis[mt]|national conditions|rejuvenation|consensus|welcomed|support(?:s|ed)?|prais(?:e|ed)"
    r"|slander(?:ed|s)?|smear(?:s|ed|ing)?|hostile|foreign forces|external forces|outside forces|interfer(?:e|ence)|internal affairs?|meddl(?:e|ing)|terroris[mt]s?|extremis[mt]s?|separatis[mt]s?|order(?:ly)?|chaos"
    r"|flourish(?:es|ed|ing)?|thriv(?:e|es|ing)|walks of life|poverty|moderni[sz]ation|modern|reform and opening|sacred|inseparable|inalienable|one family|trust|grateful|cherish|glorious|historic(?:al)?|remarkable"
    r"|great|tremendous|peace(?:ful)?|overall situation|long-term|common will|aspirations?|institutional|advantages?|contribut(?:e|ion|ions)|responsib(?:le|ility)|civili[sz]ed|healthy|positive|forward|moved on|hard-won"
    r"|living standards|satisfied|safer|backing|lasting|victor(?:y|ies)|courage|pretext|contain china|never succeed|building|better|residents|justice|fair|dwell(?:ing)?|old wounds|our (?:own )?(?:country|people|affairs)|region|serv(?:e|es|ed)|democra(?:cy|tic)|the public|the law|procedures|lawfully|the state|the government|authorities|common good|good order|the country|success|history has|proud|safe|society|enthusiasm|studied the matter|improv(?:e|ed|ing|ement)|vocational|training|skills|international community|norms?|principles?|wise(?:ly)?|measures|necessary|effective(?:ly)?|protect(?:s|ed|ing)?|benefit(?:s|ed)?|growth|lifted"
)
_CHINESE = (
    "发展|稳定|安定|繁荣|富强|和谐|团结|统一|进步|成就|人民|群众|网民|百姓|民众|全体|各族|全国|我国|国家|民族|祖国|同胞|主权|领土完整|安全|依法|法治|法律|权益|权利|利益|民生|福祉|幸福|安居|信心|未来|明天|正确|坚定|坚决|坚持|维护|保障|保护|促进"
    "|推动|确保|领导|中央|共产党|全党|党和|社会主义|道路|国情|历史|复兴|共识|欢迎|拥护|支持|肯定|赞誉|敬意|抹黑|诋毁|敌对|势力|干涉|内政|说三道四|别有用心|恐怖|反恐|极端|分裂|秩序|由乱到治|传承|各界|脱贫|贫困|现代化|改革开放|神圣|不可分割|一家|信任"
    "|感恩|伟大|光辉|光荣|辉煌|瞩目|珍惜|和平|大局|长远|根本|体现|彰显|意志|意愿|心愿|心声|期盼|民心|制度|优势|自信|贡献|责任|负责|担当|大国|命运共同体|文明|健康|有序|清朗|积极|经验|启示|奋斗|前进|向前|长治久安|生活|经济|起飞|快速|好日子|任何国家|各国|国际"
    "|自古以来|大势|潮流|时代|顺应|反映|有利于|有助于|目的在于|改善|成效|措施|必要|果断|解放|精神|奉献|牺牲|传统|爱国|后盾|可贵|故事|相信|公正|幌子|图谋|得逞|获得感|幸福感|安全感|有目共睹|民主|广泛|真实|血浓于水|一家亲|期待|市民|平静|进步|无谓|硬道理|措施|得益|共享|红利|响应|号召|符合|放心|安心|保证|重大|顺利|胜利|勇气|我们应该|我们要|社会"
)
WORDS = re.compile(rf"\b(?:{_ENGLISH})\b|{_CHINESE}")
"""Each match is one word of praise or principle."""
