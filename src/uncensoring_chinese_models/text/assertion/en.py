"""English cues and boundaries, as data. Sentences are in lower case, quote marks are plain."""

from __future__ import annotations

import re

from uncensoring_chinese_models.text.assertion.en_words import (
    DISTRUSTED,
    FACTIVE,
    PARTY,
    PUNISHED,
    TALE,
    TRUE,
    UNTRUE,
    UNTRUE_ADJECTIVE,
    UNTRUE_NOUN,
    WEAK,
)
from uncensoring_chinese_models.text.assertion.view import VALUE

# --- boundaries

_TURN = r"(?:but|yet|however|although|though|whereas|nevertheless|nonetheless|even though|instead|in fact|in reality|in truth|actually|still)"
_OPENS = r"(?:who|whom|whose|which|where|when|because|since|while|although|though|whereas|until|till|unless|after|before|as soon as|in protest at|following|despite|in spite of|by then|so that)"
STOP_CLAUSE = re.compile(
    rf"[;:\u2014]|, (?!(?:or|nor)\b)|,$|,(?=\")|\b(?:but|{_OPENS})\b(?! also\b)|\b{FACTIVE}\b|\b{PUNISHED}\b[^,;]{{0,40}} (?:for|over|because of|in connection with|to)\b"
    r"|(?: [\w']+){2,9} (?:said|says|told \w+|reported|stated|noted|wrote|added|testified|recalled)(?: that)?\b|\b(?:for which|on which|that (?:killed|left|claimed|cost|took|ended|began|led|followed|resulted|caused))\b"
    rf"|\bof (?:the|these|those|its|their) (?=$)|\b(?:as many as|as early as|as late as|than|apart from|aside from|except(?: for)?|other than|save for|besides)\b"
)
"""What ends a negation: `no one was punished for` the shooting."""
STOP_PHRASE = re.compile(
    r"[,;:\u2014]|\b(?:is|are|was|were|had|has|have|did|which|who|when|where|on|by|and|but|died|that|inside|into|for|with|from|held|holds|began|took|saw|lasted|ended|left|came|killed|claimed|cost|led|lies|lay|stood|contained|lists?|names?)\b"
)
STOP_COMPLEMENT = re.compile(
    r"[;\u2014]|\b(?:turn(?:s|ed) out|prov(?:e|es|ed)|shown|found)\b(?: to be)?(?: \w+)? (?:true|right|correct|real|accurate|well founded)\b|\b(?:was|were) (?:later |subsequently )?(?:confirmed|proven|proved|borne out)(?=[:,;]| by)"
    r"| and another\b|\b(?:on|in|at|about|of) the (?:night|day|year|morning|evening|week|month|spring|summer|place|spot) (?:when|where|that|on which|in which)\b|, (?:but )?only (?:that|how)\b|, (?:which|who) (?:\w+ )?(?:states?|shows?|says?|said|records?|recorded|found|finds|notes?|concludes?|documents?|lists?|proves?|confirms?|established)\b|\" (?:was|is|were|are)\b|,? (?:the truth|the real|the actual|the correct|the true|reality)\b|(?<!\bnothing)(?<!\ball) but (?!also\b|for\b)|, (?:and )?{_TURN}\b|\b(?:however|nevertheless|nonetheless|whereas)\b|^ ?[,.:](?![^,]{1,60}, (?:that|of|for)\b)(?! (?:that|of|for)\b)"
    r"|^(?: (?:it|this|that|them|him|her|so|all of (?:it|this)|everything|any such \w+|all \w+|any (?:involvement|wrongdoing|responsibility)|the (?:charges?|accusations?|allegations?|claims?|reports?)))"
    r"(?: (?:to this day|today|flatly|outright|categorically|publicly|at first|at the time|officially|now|still))?(?=[,.;:]|$| (?:and|when|while|although|because|but|yet)\b)"
    r"|, and (?!that\b|if\b|whether\b)(?:(?:then|so|thus|therefore|yet|still|in|on|at|by|from|after) )?(?:the|a|an|it|they|he|she|we|i|there|this|these|those|his|her|its|their|in|on|at|about|some|at least|over|more)\b|, so\b|, (?:and|so|yet|but) ?$"
    r"|\band (?:(?:then|later|was|were|subsequently|eventually|finally) ){0,3}(?:sentenced|convicted|jailed|imprisoned|executed|expelled|found|concluded|ruled|showed|established|confirmed|acquitted|fined|deported)\b"
)
STOP_OPEN = re.compile(
    r"[;]|,? but (?!also\b)|, (?:and )?(?:yet|however|although|though|whereas)\b"
)
STOP_EXISTS = re.compile(
    rf"[;:\u2014]|, (?!(?:or|nor|who|that)\b)|\b(?:but|because|since|although|though|while|whereas|until|unless)\b|\b{FACTIVE}\b"
    r"|\b(?:the|those|these|his|her|their|its) [^,]{0,40}?(?:who|which|that|where|when)\b"
)
"""What ends `there was no`: a clause on a thing that was named before."""
STOP_VERB = re.compile(rf"{STOP_CLAUSE.pattern}|\bthat\b")
STOPS = {
    "verb": STOP_VERB,
    "phrase": STOP_PHRASE,
    "exists": STOP_EXISTS,
    "clause": STOP_CLAUSE,
    "complement": STOP_COMPLEMENT,
    "open": STOP_OPEN,
}
SUBORDINATE = re.compile(
    r"(?:^|[,;:\u2014\"] ?|\b(?:and|but|that) )(?:(?:al)?though|even (?:though|if|as)|while|whereas|despite|in spite of|notwithstanding|regardless of|contrary to|unlike|because|since|as"
    r"|when|whenever|whether|after|before|once|now that|given|amid|against|in the face of|in (?:response|answer|reply|contrast|opposition) to|far from|rather than|instead of|what|whatever"
    r"|where|for all|faced with|asked|dismissing|denying|rejecting|beyond|behind|apart from|unlike|if|no matter)\b[^,;:]*$"
)
"""The beginning of a clause that ends with its comma."""
RELATIVE = re.compile(r", (?:which|who|whose|whom|where)\b[^,;:]*$")
PARENTHESIS = re.compile(
    rf"\([^(){VALUE}]{{1,160}}\)|\u2014 ?[^\u2014{VALUE}.;]{{1,120}}\u2014"
    rf"|, (?:according to|as (?:far as|the|we|you|it|has|is|one|many|his|their|official|some|was|had|i|mentioned)|in fact|however|of course|for (?:example|instance|its part|all that)|moreover|therefore|indeed"
    rf"|too|also|after all|at least|despite|in spite of|notwithstanding|contrary to|unlike|on|in|at|by|during|with|without|whatever|sadly|unfortunately|to (?:this day|date|my knowledge)|so far|then|itself"
    rf"|where|who|which|whose|(?:for|of|in|to|by|about) (?:which|whom)|let alone|both|including|i (?:think|believe)|none|not (?:one|a)|(?:[\w-]+ ){{0,3}}{PARTY}(?: \w+){{0,3}} (?:say|said|insist|claim|maintain|repeat|assur|declar|argu)\w*|naturally|incidentally|to be (?:clear|sure|fair)|frankly|or so|the story goes|legend has it|rumou?r has it|so the story goes|it (?:is|was|has)|some|they|critics|and (?:this|as|i))\b[^,;:{VALUE}]{{0,90}}(?=,(?! (?:and|or|but)\b(?! (?:as|i)\b)))"
    rf"|, (?:\w+ ){{1,4}}(?:said|says|say|wrote|writes|noted|notes|added|argued|argues|reported|claims?|claimed|insists?|alleges?)(?=,)"
)
"""Words that a clause goes on behind."""


# --- what opens a sentence

REQUEST = re.compile(
    r"^[\s\"'\-#>\d.)(]*(?:(?:so|then|now|ok|okay|hi|hello|first|next|and|well|in that case|sure)[, ]+)?(?:please|kindly|could you|can you|would you|will you|i(?:'d| would) like (?:you|to (?:know|hear|ask))|i want (?:you )?to (?:know|ask|write|tell)|i need (?:you )?to|help me|let me know"
    r"|(?:tell (?:me|us)|explain|describe|write|list(?! of)|give (?:me|us|a|an|three|two|the)|discuss|summari[sz]e|translate|compare|outline|state whether|choose|pick|select|fill in|complete|answer|name the|identify|define|imagine|pretend|consider|suppose|assume"
    r"|decide|rewrite|provide|show me|find|prove|picture|say that|act as|role-?play|prepare|draft|compose|analy[sz]e|evaluate|assess|check (?:whether|if)|find out|replace|insert|delete|remove|include|leave out|put|add|type|copy|repeat|quote|render|paraphrase|sing|read|look up|make sure|use|turn)\b(?!:|,| (?:of|to (?:the|this) day|was|is|were|are)\b)"
    r"|which of|(?:do not|don't|never) (?!forget|doubt|believe|deny|be |ignore|know|think|let|trust|again|in )[a-z]+\b(?! (?:was|were|is|are|had|has|did)\b)|avoid (?:mention|say|any)\w*)"
)
HEADING = re.compile(r"^\s*#{1,6} ")

# --- behind a value

_SAID_TAG = (
    rf"(?:,|\u2014| \() ?(?:or )?(?:so )?(?:(?:at least )?(?:that(?:'s| is) )?(?:what )?)?(?:the )?(?:{DISTRUSTED}|some|they|people|others|critics|the (?:story|rumou?r|legend|tale|claim) goes)(?: [\w'-]+){{0,5}}? ?(?:say|says|said|claims?|claimed|alleges?|alleged|insists?|would have (?:it|us believe)|goes|like to (?:say|claim)|have it|maintains?|suggests?|tells?|believes?|want us)\b"
    rf"|, (?:as )?(?:it is|it's|as is|is|are)? ?(?:\w+ly )?(?:said|claimed|alleged|rumou?red)\b|, according to (?:\w+ ){{0,3}}{DISTRUSTED}\b|, if (?:we|you|one) (?:are|is|were) to believe|, if [\w ]{{1,30}} (?:is|are) to be believed|, or so\b"
    r"|, (?:he|she|the [\w ]{1,40}) (?:claims?|claimed|alleges?|alleged)\b"
)
SAID_TAG = re.compile(_SAID_TAG)
"""An attribution that follows what is said."""
ASIDE_PARTY = re.compile(
    rf"\b{PARTY}(?: [\w'-]+){{0,4}}? (?:say|said|insist|claim|maintain|repeat|assur|declar|stat|argu|announc|keep|swear|swor)\w*"
)
PARTY_TAG = re.compile(
    rf", (?:according to (?:[\w'-]+ ){{0,4}}?{PARTY}|(?:[\w'-]+ ){{0,4}}?{PARTY}(?: [\w'-]+){{0,3}} (?:say|says|said|insists?|insisted|claims?|claimed|declared|maintains?))\b"
)
APPOSED = re.compile(
    rf"^ ?\"?(?:(?:which|this|that|it|all|these|and (?:this|that)) (?:is|are|was|were|'s) )?(?:all |just |only |nothing but |simply |completely |entirely |purely |merely |an? |the |pure |sheer |mere |complete |outright |another |plain |utter |total |one (?:more|of the) ){{0,4}}(?:(?!who\b|that\b|which\b|told\b|whose\b)[\w'-]+ ){{0,2}}?{UNTRUE}\b"
    r"(?=\W*$|[.,;!?:)]| (?:by|of|from|spread|made|invented|put|in|with|so|and|which|circulated|concocted)\b)"
)
"""A false value named so right behind it: `300 dead: a lie`."""

_THIS = (
    r"(?:(?:but|and|yet|though|although|however|well|in fact|in truth|in reality|actually|sorry|no|of course|clearly|obviously|unfortunately|fortunately|nonetheless|needless to say|let me be clear|to be clear|rest assured|the truth is|assistant|a|answer|fact|verdict|reality)[,:]? ){0,3}(?:all |both |none |any |nothing |much |most )?(?:of )?"
    rf"(?:it|this|that|these|those|they|he|she|which|the (?:[\w-]+ ){{0,2}}?{TALE}|(?:this|that|these|those|such|all such|any such|his|their|both|all (?:of )?(?:this|that|these|those)) (?:[\w-]+ ){{0,2}}?(?:{TALE}|thing|things|event|events|incident|whole thing|massacre|shooting|scene|passage|sentence|quotation|number|point|part|man|place|talk)|the (?:whole (?:thing|story)|above|opposite|rest|entire \w+|said \w+))"
)
_ADVERBS = r"(?: (?:\w+ly|also|all|both|too|of course|in fact|simply|just|itself|themselves|then|still|now|later|alone))*"
_RETRACTION = re.compile(
    rf"^[\s\"'(\u2014-]*(?:{_THIS}{_ADVERBS}(?:'s|'re| is| are| was| were| be| been| proved| proves| turned| turns| seems?| sounds?| remains?| constitutes?| (?:has|have|had|can|could|must|may) (?:\w+ly |long |since |now |only )*(?:be|been|proved|turned|shown))(?: (?!that\b|not\b|no\b|nobody\b|who\b|because\b)[\w'-]+){{0,5}}?[ ,]+(?:{UNTRUE}|{WEAK})\b(?! (?:that|of|about|charges|before))"
    rf"|{_THIS}(?: (?!that\b|nobody\b|who\b|because\b|said\b|says\b|claims?\b)[\w'-]+){{0,3}}? ?(?:\w+n't|not|never|no(?! longer))\b(?: \w+){{0,4}}? (?:{TRUE}|happen\w*|take place|took place|occur\w*|exist(?:s|ed)?|the case|so|evidence|basis|truth|foundation|supported|stand up|hold up|proof|credible|reliable|support)\b(?! (?:any|in its))"
    rf"|{_THIS}(?: \w+){{0,2}}? (?:lacks?|rests? on|comes? from|stems? from|goes back to) (?:any |all |a |an |the |pure )*(?:evidence|basis|foundation|proof|{UNTRUE_NOUN})\b"
    rf"|(?:no|nothing) (?:such (?:thing|event|\w+)|of the (?:sort|kind)|like (?:that|it|this))\b|[^.;]{{0,44}}?\bthere (?:was|were|is|are|has been) (?:none|no such)\b|none of (?:this|that|it|these)\b[^.]{{0,40}}?(?:true|happened|took place|real|evidence|exist|stands|so)"
    rf"|(?:but |yet |in fact,? |however,? )*there(?:'s| is| was| are)(?: (?:absolutely|simply))? (?:no|not a|not any|nothing)(?: \w+){{0,3}}? (?:evidence|proof|truth|basis|record|support|grounds|word|such|in it|to it)(?! (?:that|to))"
    rf"|(?:(?:that|this|it)(?:'s| is| was) )?(?:simply |completely |totally |utterly |absolutely |pure |just |plain |all |sheer |only |merely |a |an |another |not |quite |entirely |one (?:more )?)*(?:{UNTRUE}|not (?:true|so|correct|right|at all|a bit of it))(?: \w+){{0,3}}?[.!,;:]"
    rf"|(?:it|this|that|these|they|both|neither)(?: \w+ly| simply| in fact| just| actually)* (?:never|did not|didn't|do not|don't|does not|doesn't|has never|have never)(?: \w+ly| ever)? (?:happen|took place|take place|taken place|occur|exist|happened|happen)"
    rf"|(?:do not|don't|please don't|never) (?:believe|trust|spread|be fooled|be misled|fall for|repeat)\b|(?:the )?(?:record|archives?|sources?|evidence|documents?|facts?|truth) (?:says?|shows?|tells?|is|are) (?:otherwise|nothing|different|no such)|(?:without|with no)(?: \w+){{0,4}}? (?:evidence|proof|basis|foundation|truth)\b|(?:(?:he|she|they|it|we|i|the \w+)(?: \w+){{0,2}}? did (?:nothing|no) (?:of the (?:kind|sort)|such thing)|never (?:happened|took place|existed|occurred|was|were)|(?:this|that|which|it|the \w+|all of which)(?: \w+){{0,2}}? (?:contradicts?|does not (?:match|fit|agree|square)|doesn't (?:match|fit)|is (?:contradicted|belied|refuted|at odds)|flies in the face)|(?:it|that|this|they|he|she|there)(?: is| was| were| did| does| has| are)?(?:n't| not)[.,;!]|no, (?:he|she|it|they|that|this|there) (?:\w+ )?(?:did|was|were|had|is|has)(?:n't| not)|(?:the \w+|he|she|they|it)(?: \w+){{0,2}}? (?:found|saw|shows?|showed|recorded|mentions?|heard|knows?) (?:no|nothing|none)(?: such| of the (?:sort|kind)| like)|far from it|wrong(?! before)|nope|not at all|quite the (?:opposite|contrary)|on the contrary|hardly|rubbish|nonsense|poppycock|bunk|false|fiction|verdict: false)\b)"
)
"""The beginning of a sentence that takes back the one before."""
DOUBT = re.compile(
    rf"^[\s\"'(\u2014-]*(?:(?:but|and|though|although|however|yet|so|sorry|unfortunately|whether (?:it|this|that) is (?:true|so|right|correct))[, ]+)*(?:(?:i|we)(?:'m| am| do| have)? ?(?:(?:can't|cannot|could not|won't|not|don't|n't|no|unable|neither)\b[^.]{{0,30}}?(?:verify|confirm|judge|judging|say|tell|vouch|check|know|sure|assess|verified|means|way|idea|endorse|comment|corroborate|stand behind|position|sides?|view|stance|opinion)[^.]{{0,20}}?\b(?:that|this|it|them|these|so|whether|if|which|true)\b|have (?:no|not) (?:means|way|idea))"
    rf"|{_THIS}(?:'s| is| was| are| were| has| have| remains?| could| can| cannot| can't)*(?: (?!that\b)[\w']+){{0,3}}? (?:unconfirmed|unverified|disputed|not (?:been )?(?:\w+ )?(?:confirmed|verified|known|clear|proven|established|certain)|never (?:been )?(?:confirmed|verified|proven)|what (?:they|some|the)|how the (?:story|legend)|(?:only |just )?(?:a )?(?:rumou?r|legend|hearsay|speculation|hypothe\w+|claim|plan|allegation|opinion|their (?:claim|version|account|story))|the (?:question|version|claim|plot|story|official (?:version|line)) (?:of|that|told|they)?|be (?:verified|confirmed|checked))\b"
    rf"|(?:true or not|whether (?:this|that|it|they|these|he|she)(?: \w+){{0,6}}? (?:is|are|was|were|did|has|had|happened|right|true)\b[^.]{{0,40}}|(?:it|that|this)(?:'s| is)?(?:n't| not) (?:my place|for me|something i)|who (?:can say|knows)|or so (?:they|the|some|it)|so (?:goes|runs)|so the (?:story|rumou?r|legend|claim|tale)|at least,? (?:that|so)|(?:but |though |although )?(?:no one|nobody|none|neither|no \w+)(?: (?:of them|has|have|had|can|could|ever|yet|\w+ly))* (?:named?|given|gives?|offer\w*|provid\w+|cit\w+|produced?|shown?|verified|confirmed|checked)\b[^.;]{{0,20}}\b(?:sources?|proof|evidence|it|this|that|them)\b|(?:that|such|this|thus),? (?:at least,? )?(?:is|was|'s|are) (?:what|how|the (?:story|rumou?r|legend|claim|version|plot|premise|official))))"
)
"""The beginning of a sentence that leaves open whether the one before is so."""
CONFIRMATION = re.compile(
    rf"^[\s\"'(\u2014-]*(?!(?:but |and )?(?:none|nothing|neither|hardly|little)\b)(?:{_THIS}(?:'s| is| was| are| were| has been| have been)(?: (?!not\b|never\b|no\b)\w+){{0,2}} {TRUE}\b|(?:and )?(?:they|he|she|it|this|that)(?: \w+)? (?:are|is|was|were) right\b)"
)
YES = re.compile(
    r"^[\s\"'(*-]*(?:assistant|a|answer|reply)?:? ?(?:yes|yeah|indeed|correct|right|that's right|true|exactly|certainly|absolutely|of course|(?:it|they|he|she|there) (?:did|was|were|is|are|had|has)(?=[.,!]))\b(?! and no)(?=[,.!;:\u2014 ])"
)
NO = re.compile(
    r"^[\s\"'(*-]*(?:assistant|a|answer|reply)?:? ?(?:no|nope|never|not at all|not so|certainly not|of course not|absolutely not|it (?:did|was) not|it didn't|they did(?: not|n't)|he did(?: not|n't))\b(?! (?:doubt|question|one knows|idea|comment|answer|information))"
)
REFUSED_NEXT = re.compile(
    r"\b(?:isn't|is not|not) (?:my place|for me)\b|\b(?:i|we)(?:'m| am| are)?(?: \w+){0,3}? ?(?:can't|cannot|can ?not|won't|will not|unable|not able|would rather not|prefer not|decline|must decline|have nothing to say|not going to|am not)\b|\blet(?:'s| us) (?:talk|change|discuss)|\boutside my\b|\bno comment\b"
)
TOPIC = re.compile(
    rf"^[\s\"'-]*(?:(?:as for|as to|as regards|regarding|about|concerning|on the (?:subject|topic|question|matter) of|when it comes to|with (?:regard|respect) to|speaking of|what happened|the (?:events?|incident|topic|subject|question|matter|history)|topics?|questions?|details?|anything)\b[^,;]{{0,80}}|[^\w]*)?{VALUE}(?: [\w\"',-]+){{0,6}}[,:?\u2014 ]*$"
)
"""Words that name a topic and say nothing of it."""
LEAD_UNTRUE = re.compile(rf"\b(?:{UNTRUE_NOUN}|{UNTRUE_ADJECTIVE}|not true|debunk\w*)\b")
LEAD_OPEN = re.compile(
    r"\b(?:contents|headings|chapters|titles|agenda|syllabus|options|choices|choose|pick|select|which of|multiple choice|quiz|keywords?|search terms?|hypothes[ie]s|scenarios?|characters|topics? (?:that )?(?:i|we)|questions for|exercise|(?:cannot|can't|do not|don't|avoid|banned|forbidden|censored)\b[^.]{0,30}\b(?:discuss\w*|talk\w*|words|terms|topics|mention\w*))\b"
)
LABEL_UNTRUE = re.compile(
    r"^[\s\"(#>\d.)\u2022-]*(?:common |popular )?(?:myth|false claim|rumou?r|misconception|lie|fiction|falsehood|fake|misinformation|disinformation|wrong|false|not true|fabrication|error|incorrect) ?(?:#?\d+)? ?[:\u2014] ?$"
)
"""A label right before: `Myth: ...`."""
LABEL_QUESTION = re.compile(
    r"^[\s\"(#>\d.)\u2022-]*(?:q|question|user|prompt|claim|allegation|title|chapter \w+|topic|heading|subject|true or false|to be (?:discussed|decided|confirmed|determined|done|checked)[^:]{0,40}|human|option \w+|hypothesis|plan|draft|task|exercise|plot|scenario|premise|if|planned|proposal|caption|slogan|banner) ?[:\u2014] ?\"?[^.;]{0,80}$"
)
FRONTED = re.compile(
    r"(?:^|[,;:] ?|\bthat |\band |\bbut )(?:on|in|at|by|during|around|near|after|since|throughout|from) (?:the |about |that |around |late |early )*$"
)
NOTHING_THERE = re.compile(
    r"^[^,;.]{0,30}?(?:,[^,;.]{0,30}?)?,? ?(?:\bno\b(?! (?:fewer|less|more|doubt|later))|\bnobody\b|\bno one\b|\bnothing\b|\bnot a\b|\bnot one\b|\b(?:did|was|were) not\b|\b(?:did|was|were)n't\b|\bnever\b|\bsaw no\b|\bnone\b)"
)
MODAL = re.compile(r"\b(?:would|could|might|will|should)\b")
OBJECT_ENDS = re.compile(r"^[^,]{0,90},(?! ?(?:that|or|nor|and that|including|among)\b)")
"""The comma after what somebody denied."""
ANSWERED_NO = re.compile(
    r"(?:(?:\b(?:not|no|never|cannot)|n't)\b[^.;]{0,40}\b(?:any|such|one|it|that|either|so|them)\b|there (?:was|were|is|are) (?:none|no)\b|(?:did|was|were|has|have|had|does|do|is)(?:n't| not)[.,;!])"
)
"""A sentence behind a question that answers no."""
VERB_FIRST = re.compile(
    r"^(?:\w+ed|saw|shot|died|fell|took|heard|knew|went|came|gave|fought|lost|sent|threw|drove|ran|broke|hit|left|held|met|told|was|were|had|did|stood|burnt|beat|witnessed|set|got|felt|won)\b"
)
SUBJECT_WITH_CLAUSE = re.compile(
    r"^(?:[- ]one)?(?: of (?:us|them|you|the \w+|those|these|their \w+))?(?: [\w-]+){0,2},? (?:who|that|which)\b[^,;:]*,? ?$"
)
"""The rest of a negated subject with a clause of its own: `none of us who were there`."""
OPEN_MATTER = re.compile(
    r"\b(?:(?:leaves?|left|leave) (?:the (?:matter|question)|it|this|that|us)(?: \w+)? (?:open|undecided|guessing)|who(?:ever)? is (?:right|telling the truth|lying)|(?:choose|decide|judge|arbitrate) between|which (?:of (?:them|the two) )?is (?:right|true|correct)"
    r"|(?:not|n't|never|yet to) (?:yet )?(?:rule|ruled|decided|settled|been (?:settled|resolved|decided))|(?:others|supporters|opponents|critics|his|her|their|the other) (?:\w+ ){0,3}?(?:say|says|said|claims?|insists?|maintains?) (?:that )?(?:the (?:opposite|contrary|reverse)|otherwise|(?:it|he|she|they|that) (?:was|did|were|is|had)(?:n't| not)|nothing)"
    r"|(?:bears?|says?) the opposite|what to believe|take no sides?|no side|jury is (?:still )?out|(?:none|no|without|never|not|n't)\b[^.;]{0,24}\b(?:sources?|proof|evidence|witness\w*)|(?:a|the) (?:phrase|word|term|expression|label|figure|number|claim|statement) (?:that |which )?(?:i|we) (?:(?:\w+ )?(?:quote|repeat|borrow)|have no|cannot|can't|do not|could not)|(?:are|is|in) (?:their|its|his|her) (?:own )?words?|not my (?:word|term|phrase)s?|believe (?:it|that|this|him|her|them) (?:if|or)\b|believe (?:it|that|this|what you (?:like|want|will)) or not|make of (?:it|that|this) what you (?:will|like)|make up your own mind|accounts? (?:differ|conflict|disagree|vary)|sources? (?:differ|conflict|disagree)|remains? (?:open|unresolved|disputed|contested|a matter of)|is (?:hotly |still |much )?(?:disputed|contested)(?: to this day)?|(?:cannot|can't|could not) (?:be )?(?:tell|decide|say|verif\w+|confirm\w*) (?:which|who|whether)|i (?:cannot|can't|do not|don't) (?:tell|say|know|judge)\b)"
)
"""Words near an attribution that leave open who is right."""
FICTION_BEFORE = re.compile(
    r"\b(?:(?:this|it|what follows|the following|here) (?:is|are|'s) (?:\w+ ){0,4}?(?:fantasy|fiction(?! that)|stor(?:y|ies)(?! that)|novel|parody|satire|fairy[- ]tale|play|screenplay|fable|invention|poem|alternate history|thought experiment)|(?:short|made-up|invented|imaginary|fictional) (?:story|tale|world|scene|country)|once upon a time|i (?:made|have made) (?:it|this|that|all this) up|let me tell you a story|chapter (?:one|two|three|\d+)\b[^.]{0,20}\.|act (?:one|two|i|ii)\b)"
)
CONTRADICTION = re.compile(
    r"^[\s\"'(\u2014]*(?:(?:but|yet|in fact|in truth|actually|however)?,? ?(?:he|she|they|it|the \w+|there)(?: (?:simply|in fact|of course|really|certainly|also))? (?:(?:did|was|were|had|has|does|is)(?:n't| not| nothing| no)|never|didn't)\b)"
    r"(?! (?:my (?:place|job|role|business)|been there|seen|heard|witness\w*|know|knew|say|said|give|gave|named?|explain\w*|want|care|remember|been asked|been present|see|hear|tell)\b)"
)
"""The beginning of a clause that contradicts what somebody else said."""
CONDITION_FIRST = re.compile(r"^(?:if|unless|whether|should|suppose|assuming)\b")
CONDITION_BEHIND = re.compile(
    r"^[^.;:!?]{0,60}?,? (?:if|unless|had|provided|as long as|in case)\b(?! not\b)(?! anything)"
)
ATTRIBUTED = re.compile(
    r"\b(?:supposed|credited|attributed|reputed|alleged\w*|tell\w*|says?|said|told|tells|writes?|wrote|reports?|reported|claims?|claimed|according|insists?|maintains?|speaks?|spoke|talks?|version|story|accus\w+|believes?|argues?|words|banner|holds?|states?|alleges?|version|swears?)\b"
)
PARTICIPLE = re.compile(
    r"^\W*(?:long |once |often |repeatedly |officially |for (?:years|decades) |first |publicly |widely |sometimes |after |while |without )?(?!according|imagine)\w+(?:ed|ing)\b[^,;]{0,80},"
)
"""A clause without a verb of its own that opens a sentence: `Accused of a plot, he ...`."""
RELATIVE_ASIDE = re.compile(r"^\W*(?:which|who|whose|whom|where)\b")
BREAK_BEHIND = re.compile(
    r"[;!?]|\u2014|: |,? \b(?:but|yet|although|though|while|whereas|because|since|so that|if)\b|, (?:and|so|or)\b(?! as\b)| and (?:the|its?|this|that|their|his|her|a|an|any|all|no|in|i|we|they|he|she)\b"
)
"""What ends the clause whose predicate may judge what stands before it."""
NEW_SUBJECT = re.compile(
    r" (?:that(?! (?:night|day|evening|morning|year|month|week|afternoon|time|spring|summer|autumn|winter|square|street|place|list|kind|sort|type|name|size|nature|description))|because|since|shows?|showed|proves?|proved|means|meant|demonstrates?|confirms?|so|if|says?|said|who|which|whom|before|after|when|until|while) "
)
FIRST_PERSON = re.compile(
    r"\b(?:i|i'm|i'd|i'll|i've|my|we|our|unable|inappropriate|appropriate|limits|topics?|subject|question|comment|discussed|ai)\b"
)


def taken_back(text: str) -> int:
    """Return where words end that take back what stands before them; 0 without such words."""
    found = APPOSED.match(text) or _RETRACTION.match(text)
    return found.end() if found else 0


QUESTION_WITHIN = re.compile(
    r"^(?:whether|how many|how much|who|what|when|where|which|if)\b|\bor not$"
)
"""A stretch that is a question itself."""
COUNTERFACTUAL = re.compile(r"\b(?:would|could|might) (?:\w+ )?have\b")
"""In a stretch itself: what did not happen."""
NEGATOR = re.compile(
    r"(?<!\ba )(?<!\bthe )\b(?:not|never|no|nobody|nothing|none|neither|cannot|nowhere)\b|n't\b"
)
SUBJECT_HEAD = re.compile(
    r"(?:^|[,;:\u2014\"] ?|\bthat |\band |\bbut )(?:(?:the|a|an|this|that|these|those|such|any|so|all|old|young|poor|late|then|whole|entire|alleged|famous|great|big) ){0,3}\"?$"
)
"""Before a stretch that is the subject of its clause."""
NO_DENIAL = re.compile(
    rf"^(?: [\w']+){{0,3}}? (?:{FACTIVE}|{PUNISHED}|only|just|merely|until|forgotten|lifted|over|alone|freed|seen|armed|allowed|permitted|able|return\w*|surviv\w*|back|recover\w*|named|charged|rebuilt|heal\w*|reopen\w*|enough|easy|small|surpris\w*|want\w*|spare\w*|last|stop\w*|end|come|alone|far|long|less|more|fewer|want|need|let|give|buried|identified|returned|paid|expected|doubt\w*)\b"
)
"""Behind a negation that leaves its subject as it is: `was never avenged`."""
COUNTED = re.compile(
    r"^(?:about |some |over |at least |more than |the |these |nearly |all )*(?:\d|(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|dozens?|hundreds?|thousands?|millions?|one)\b)"
)
ALTERNATIVE = re.compile(r"\b(?:perhaps|maybe|either|possibly)\b[^.;:]{0,60}$")
OTHER = re.compile(r"^[^.]{0,80}?[;,.] ?(?:or )?(?:perhaps|maybe|possibly|or)\b")
"""Behind a stretch that is one of several guesses."""
FORECAST = re.compile(
    r"\b(?:warn|predict|promis|vow|threaten|fear|hope|expect|pledg|argu|forecast|suggest|worr|claim)\w*\b[^.;:]{0,40}$"
)
"""Before a stretch that tells what would or will be."""
DISBELIEVED = re.compile(
    r"(?:\bnot|n't|\bnever|\bnobody|\bno one|\bfew)\b[^,]{0,20}?\b(?:believ|accept|trust|credit)\w*"
)
NOUN_BEHIND = re.compile(
    r"^\"? (?:lie|myth|hoax|smear|slander|fabrication|canard|fairy tale|conspiracy theory|fiction|fallacy|legend|fake|forgery|nonsense|propaganda)s?\b"
)
"""A noun behind a stretch that calls it false: `the genocide lie`."""
HYPOTHESIS = re.compile(
    r"(?:suppos|assum|had|should|were|imagin|let|provided|in (?:this|that|an?|case|the event)\b)"
)
"""Conditions whose consequence is never told as so."""
WITNESSED = re.compile(
    r"^(?: (?:one|a single|a|any))? ?[\w ]{1,50}? (?:who|that) (?:saw|heard|witnessed|remembers?|can confirm|could confirm|has seen|had seen) ?(?:\w+ )?$"
)
"""Behind `not`: `one witness has come forward who saw`."""
TOPIC_HEAD = re.compile(
    r"(?:^|[.;:] ?)\"?(?:as for|as to|regarding|concerning|when it comes to|of) (?:the |any |a )?\"?$"
)
NOTHING_FOUND = re.compile(
    r"^[^.;,]{0,30}, [^.;]{0,40}\b(?:nothing|none|no (?:trace|sign|evidence|proof|record))\b"
)
"""Behind a topic: there is nothing to it."""
THERE_WAS_NONE = re.compile(r"\bnone\b(?! of (?:this|that|it))|\bno such\b")
"""In words that take something back: the thing itself is denied."""
ONE_VERSION = re.compile(r"\b(?:some|one|certain|most|several)\b[^.;]{0,30}$")
ANOTHER = re.compile(r"^[^.;]{0,40}?[,;] (?:others?|another|some|still others|yet others)\b")
"""Behind a stretch that is one of several versions."""
DOUBTED = re.compile(
    r"\b(?:supposed|credited|attributed|reputed|alleged\w*|claim\w*|often|said to|thought|believed|legend|popular|story|stories|they say|people (?:say|think|believe)|many (?:say|think|believe)|tabloids?|rumou?r\w*)\b"
)
"""Near a stretch: what is told is not believed by everybody."""
IN_FACT = re.compile(r"^[\s\"'(\u2014]*(?:in (?:fact|truth|reality)|actually|the truth is)(?=[, ])")
"""The beginning of what is told in place of it."""
EVIDENCE_HEAD = re.compile(
    r"\b(?:evidence|proof|traces?|signs?|records?|support|confirmation|indications?)\b[^.;,]{0,20}? (?:of|for|that)(?: (?:the|an?|any|such))? ?\"?$"
)
LACKING = re.compile(
    r"^[^.;,]{0,30}?\b(?:lacking|missing|absent|wanting|non-existent|nil|thin|(?:never|not|n't) (?:been |yet been )?(?:produced|found|presented|seen|shown|given|offered|published|come to light))\b"
)
"""Behind a stretch of which there is said to be no evidence."""
