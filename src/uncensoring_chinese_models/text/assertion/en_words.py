"""Families of English words, as patterns: what cues and sentences are made of."""

from __future__ import annotations

import re

PARTY = (
    r"(?:governments?|officials?|authorities|beijing|moscow|pyongyang|party|minist(?:ry|er|ers)|spokes(?:man|men|woman|person|people)"
    r"|embassy|police|army|military|regime|state (?:media|television|tv|press)|xinhua|people's daily|global times|prosecutors?"
    r"|generals?|junta|leadership|censors?|communiqu[eé]|prime minister|premier|president|the state|compan(?:y|ies)|firms?|corporations?|manufacturers?|management|defendants?|the accused|diplomats?|kremlin|tehran|hanoi|bangkok|washington|apologists|deniers|defenders)"
)
DISTRUSTED = (
    r"(?:(?:western|foreign|overseas|hostile|anti-china|separatist|tabloid|unnamed|anonymous|online|internet|certain|some|various|so-called)"
    r"(?: \w+){0,2}|critics|detractors|rumou?rs?|gossip|propaganda|propagandists|legend|folklore|conspiracy theor(?:y|ies|ists)|hearsay|netizens|bloggers|posts?"
    r"|tabloids|forums?|social media|word of mouth|unverified \w+|unconfirmed \w+|hostile \w+|separatists|the web|the internet|viral \w+|pamphlets?|leaflets?)"
)
VAGUE = (
    rf"(?:some|people|many|many people|they|others|most people|those who|there are (?:those|people|some) who|everyone|certain \w+|one (?:story|version)|{DISTRUSTED}"
    r"|word|the story|the rumou?r)"
)
UNTRUE_NOUN = (
    r"(?:rumou?rs?|lies?|myths?|hoax(?:es)?|fabrications?|forger(?:y|ies)|fictions?|falsehoods?|inventions?|slanders?|smears?|canards?|fallac(?:y|ies)"
    r"|misconceptions?|legends?|fantas(?:y|ies)|fair(?:y|ies)[- ]tales?|nonsense|propaganda|disinformation|misinformation|fakes?|hearsay|fake news|rubbish"
    r"|concoctions?|calumn(?:y|ies)|defamation|distortions?|smear campaigns?|make-believe|old wives' tales?|tall tales?|libels?|deceptions?|frauds?|humbug"
    r"|mistranslations?|misprints?|exaggerations?|gossip|tittle-tattle|scaremongering|chatter|hype|bunk|baloney|rot|bogus|tripe|garbage|libels?|travesty|fables?|fakery|pretence|pretense|hogwash|poppycock|balderdash|non-events?|non-starters?|figments? of [\w']+ \w+)"
)
UNTRUE_ADJECTIVE = (
    r"(?:false|untrue|fake|faked|forged|baseless|unfounded|groundless|fabricated|fictitious|fictional|bogus|incorrect|erroneous|inaccurate|mistaken|invented|laughable|nonsensical|untenable"
    r"|implausible|farcical|outlandish|fantastical|far-fetched|unthinkable|without foundation|factually wrong|demonstrably wrong|plain wrong|simply wrong|quite wrong|completely wrong"
    r"|made[ -]up|non-?existent|spurious|phone?y|imaginary|concocted|absurd|ridiculous|preposterous|slanderous|libellous|defamatory|ludicrous"
    r"|unsupported|doctored|staged|photoshopped|counterfeit|manufactured|apocryphal|unhistorical|mythical|incorrectly \w+|trumped[ -]up|cooked up"
    r"|debunked|discredited|disproved|disproven|refuted|out of the question|imagined|fanciful|(?:too|much too|far too|way too) (?:high|low|many|few|large|small|early|late)|overstated|inflated|ruled out)"
)
WEAK = (
    r"(?:wrong|(?:a|an|the) (?:\w+ )?(?:mistake|error|slip|misunderstanding)|impossible|off by \w+)"
)
"""Words that deny a figure or a claim; a shooting that was wrong still took place."""
CLAIMED = re.compile(
    r"\b(?:that|claims?|reports?|stor(?:y|ies)|figures?|numbers?|ideas?|dates?|assertions?|statements?|suggestions?|notions?|versions?|accounts?|years?|spelling|quotation|answer|belief|assumption)\b"
)
UNTRUE = rf"(?:{UNTRUE_NOUN}|{UNTRUE_ADJECTIVE})"
TRUE = (
    r"(?:true|correct|accurate|right|factual|real|a fact|facts|authentic|genuine|undisputed|indisputable|undeniable|beyond (?:all |any )?(?:doubt|dispute|question)"
    r"|well[ -](?:documented|established|attested)|confirmed|proven|proved|verified|not in (?:doubt|dispute|question)|established|borne out|documented"
    r"|the truth|no (?:rumou?r|myth|lie|invention|legend|fabrication|fiction))"
)
FILL = r"(?: (?!not\b|no\b|never\b)[\w'-]+){0,4}?"
TALE = (
    r"(?:claims?|reports?|rumou?rs?|stor(?:y|ies)|allegations?|accusations?|accounts?|figures?|numbers?|ideas?|impressions?|beliefs?|assertions?|statements?"
    r"|tales?|suggestions?|notions?|version|news|information|charges?|photos?|photographs?|pictures?|images?|footage|videos?|documents?|lists?|memos?|letters?|orders?"
    r"|papers?|files?|testimon(?:y|ies)|narratives?|date|premise|assumption|theor(?:y|ies)|quotes?|quotations?|posts?|sources?|dates?|tolls?|evidence|telegrams?|diar(?:y|ies)|minutes)"
)
LINK = r"(?:that|of|about|on|which|in which|in|from|naming|with|saying|claiming|alleging|according to which|regarding|concerning|for|as)"
TALK = (
    r"(?:discuss|address|comment|respond|elaborate|talk|speak|chat|write|engage|help|assist|say|tell|go into|get into|answer|provide|offer|share|give|disclose"
    r"|reveal|describe|repeat|list|name|generate|produce|express|weigh in|touch|cover|explain|continue|supply|go over|speculate|take a position|mention|state|present)"
)
I_AM = r"\b(?:i|we|(?:this|the|our) (?:chatbot|assistant|service|model|system|app|tool|bot))(?:'m| am| are|'re| was| do| did| will|'ll| would|'d| must| may| should)?(?: \w{2,14}){0,2} ?"
FACTIVE = (
    r"(?:admit\w*|acknowledg\w+|conced\w+|apologi[sz]\w*|aton\w+|regret\w*|forg[aeio]\w+|mention\w*|commemorat\w+|mourn\w*|remember\w*|publish\w*|released?"
    r"|releas\w+|disclos\w+|reveal\w*|learn\w*|learnt|know\w*|knew|hear|heard|told|reali[sz]\w*|notic\w+|stop|stopped|prevent\w*|undo|undone|alter\w*"
    r"|justif\w+|excus\w*|explain\w*|accountab\w+|responsib\w+|blame\w*|identified|rehabilitat\w+|compensat\w+|investigat\w+|inquir(?:y|ies)|about|recogni[sz]\w+|broadcast\w*"
    r"|showed|shown|see|seen|surviv\w+|expect(?:ed)?|surpris\w+|prepared for|fores\w+|imagin(?:e|ed|ing)|diminish\w*|lessen\w*|erase\w*|hide|hidden|conceal\w*|conviction\w*|inform\w*|aware|ashamed|monument|memorial|plaque|justice)"
)
PUNISHED = r"(?:punish\w*|prosecut\w+|convict\w*|charged|tried|jailed|sentenced|sanction\w*|disciplin\w+|court-martial\w*|arrest\w*|dismissed|trials?|paid|answer\w*|held|indict\w*|brought)"
NOT_SURE = r"(?: (?:yet|entirely|quite|fully|really|exactly|at all|absolutely|completely|actually|even|currently|100% |personally|independently|publicly|been|be|officially|in a position to|able to|possible to|a))*"
WH = r"(?:whether|if|that|how|what|when|where|who|why|which|exactly|precisely)"
LAST = r"(?:fewer|less|more|later|earlier|sooner|other|smaller|lower|higher|longer) than"
