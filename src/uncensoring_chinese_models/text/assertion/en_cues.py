"""English cues, as data: one a line, in the form that `cues` explains."""

from __future__ import annotations

BEFORE = r"""
nothing clause ~ can't cannot couldn't ~  help (?:notic|but|think|feel|wonder|see)\w*
true complement ~ not can't cannot ~ (?: be)? (?:den(?:y|ied)|disputed?)\b(?: that)?
ignorance complement ~ no nobody not can't cannot ~ (?:[- ]one)?(?: can| could)?(?: be)? ruled? out\b(?: that)?
refusal open ~ avoid* refrain* steer stay keep ~ (?: from| clear of| away from| out of)?\b ~ \b(?:i|we) (?:\w+ )?(?:must|have to|should|will|try to|prefer to|need to|required to|asked to|told to|designed to|supposed to|trained to)[ ]
refusal open ~ not can't cannot won't ~ (?: be)?(?: able| allowed| permitted| going| in a position| at liberty| programmed| prepared| willing| authori[sz]ed| comfortable| wish| want| like| free)?(?: to)? <TALK>(?:ing)?\b ~ <I_AM>
refusal open ~ let ~ (?: us)? (?:please |rather )?(?:talk|discuss|speak|chat|change|focus|move on|turn)\b[^.;]{0,50}?\b(?:else|other|instead|different|another)\b
refusal open ~ silent quiet ~ (?: (?:about|on|as to|regarding)| ?:)? ~ \b(?:i|we)\b[^.;]{0,40} (?:remain|stay|be|keep)[ ]
refusal open ~ leave ~ (?=[^.;]{0,40} to (?:others|historians|experts|you|the historians)\b) ~ \b(?:i|we)(?:'ll| will| would| must| have to|'d)?(?: \w+){0,3}[ ]
refusal open ~ unable ~  to <TALK>\b
refusal open ~ decline refuse must have prefer rather avoid refrain ~ (?: to| not to| not| from)*(?: (?:decline|avoid|refrain|refuse)(?: to| from)?)? <TALK>(?:ing)?\b ~ \b(?:i|we)(?:'d| would|'ll| will| must| have to|'m going to)?(?: \w+){0,2}[ ]
refusal open ~ restricted forbidden prohibited barred prevented ~  from <TALK>ing\b
refusal open ~ guidelines policy policies rules instructions training programming design creators developers settings ~ (?: \w+){0,3}? (?:prevent|prohibit|forbid|do not|don't|does not|doesn't|bar|not to)\b ~ \b(?:my|our|the|content|usage) (?:\w+ )?
nothing clause ~ not ~  be(?= (?:taken in|fooled|misled|deceived|duped|tricked))
negated complement ~ to ~  (?:deny|dispute|doubt)\b(?: that)? ~ (?:^|[,;:.!?])[\s"']*
nothing clause ~ not ~  (?:only|just|merely|simply|solely|least|long|surprising(?:ly)?|unusual(?:ly)?|uncommon|infrequently|without|<LAST>|to mention|for nothing|far from|unlike|un[a-z]+ed|alone|in (?:doubt|dispute|question)|forgotten|mean that \w+ (?:did not|didn't)|so much|because|all(?= of| (?:the )?<VALUE>))\b
true complement ~ no ~  amount of \w+
nothing clause ~ pretend* claim* ~  otherwise\b
nothing clause ~ true ~  or false\b
nothing clause ~ neither nor ~ - ~ \b<FACTIVE>(?: neither [^,.;]{1,40})?[ ]
nothing clause ~ error mistake misconception misunderstanding myth ~ : ~ \b(?:correct|clear up|point out|clarify|fix|dispel|straighten out)\w*(?: \w+){0,3}[ ]
true complement ~ without ~  saying\b(?: that)?
ignorance clause ~ may might ~  or (?:may|might) not\b(?: have)?
condition phrase ~ say ~ ,?(?= ?<VALUE>) ~ ,[ ]
true complement ~ beyond ~  (?:all |any |reasonable |serious )*(?:doubt|dispute|question)\b,?(?: that)?
ignorance open ~ neither ~  (?:confirm|admit)\w* nor den(?:y|ies|ied)\b(?: that)?
ignorance open ~ confirm ~  or deny\b(?: that)?
nothing clause ~ no ~  gun ri\b| man's land
true complement ~ not can't cannot couldn't hardly scarcely ~ (?: \w+ly| now| seriously| really| credibly| honestly| reasonably| possibly)?(?: be| help but)? (?:den(?:y|ied)|disput(?:e|ed)|doubt(?:ed)?|question(?:ed)?|contest(?:ed)?|ignored?|overlook(?:ed)?|forget|forgotten|overstated?|exaggerated?|gainsaid|argued? with)\b(?: the fact)?(?: that)?
true complement ~ not no hardly ~ (?: a| an| any| mere| just| idle| empty| wild)* (?:rumou?r|lie|myth|hoax|fabrication|invention|fiction|exaggeration|legend)\b(?: that| of)?
negated complement ~ not ~ (?: \w+ly| quite| at all| actually| really| even| in fact)? (?:true|correct|right|the case|a fact|accurate|so|as if|as though)\b,?(?: to (?:say|claim|suggest|state))?(?: that)?
ignorance open ~ not ~  (?:know|recall|remember|have (?:any |enough |reliable |specific |much )?(?:information|knowledge|details?|data|means|memory|records?|way|idea|access))\b ~ \b(?:i|we)(?: \w+){0,2}[ ]
ignorance complement ~ not ~  (?:heard of|aware of|familiar with)\b ~ \b(?:i|we)(?:'ve|'m| have| am| are)? (?:\w+ )?
ignorance complement ~ not cannot can't ~ <NOT_SURE> (?:sure|certain|clear|confirmed|verified|established|confirm|verify|establish|proven|proved|settled)\b(?: for (?:sure|certain))?,? <WH>\b
ignorance complement ~ not cannot can't ~ <NOT_SURE> (?:know|known|say|tell|given|judge|determined?|decide|decided)\b(?: for (?:sure|certain))?,? (?!that\b)<WH>\b
ignorance complement ~ cannot can't ~  be (?:ruled out|excluded|confirmed|verified|established|proven|proved|determined|independently \w+) (?:that|whether)\b
nothing clause ~ not ~  until\b
nothing clause ~ not ~ (?: \w+){0,6}? (?:until|till)\b
true clause ~ not never ~  (?:ever )?(?:prevent|stop|avoid|avert|fail|refuse|hesitate|lack|shrink from)(?:ed|ped)?\b
true complement ~ no ~  (?:doubt|question|den(?:ying|ial)|disput(?:e|ing)|mistake|mistaking|secret|coincidence|wonder|surprise|exaggeration|escaping|getting around|way (?:around|to deny)|need to (?:deny|doubt)|arguing(?: with)?|(?:reason|evidence|grounds?) to (?:doubt|deny|question|dispute)|gainsaying|(?:serious |reasonable |credible )?(?:dispute|disagreement|doubt))\b(?: about)?(?: the fact)?(?: that| whatsoever| at all)*
nothing clause ~ no ~  longer\b
nothing clause ~ not n't ~  any ?(?:longer|more)\b
nothing clause ~ no ~ - ~ \b(?:the|a|their|its)[ ]
nothing clause ~ no ~  (?:<LAST>|sooner|matter|small|ordinary|mean|exception|longer ago)\b|[,.;:!]| \d
true complement ~ no nobody none few not never hardly neither nothing scarcely ~ (?:[- ]one)?(?: (?!that\b|because\b|who\b|which\b)[\w'-]+){0,8}? (?:seriously |really |now |today |still |can |could |would |will |honestly |has (?:ever |seriously )?|have (?:ever )?)*(?:den(?:y|ies|ied)|disput(?:e|es|ed)|doubt(?:s|ed)?|question(?:s|ed)?|contest(?:s|ed)?|challenge[sd]?|forget|dispute)\b(?: the fact)?(?: that)?
ignorance open ~ no ~ (?: \w+){0,2} (?:opinion|views?|position|stance|comment|information|knowledge|details?|data|memory|means|way|idea|clue|access)\b ~ \b(?:i|we)(?: currently| really| simply| personally)?(?:'ve| have| had)(?: absolutely| simply| really| currently)?[ ]
ignorance complement ~ never not ~ (?: been| ever)* (?:proved|proven|established|demonstrated|verified)\b(?!,? (?:by|in court))
ignorance open ~ no ~  (?:idea (?:whether|if|how|what|who|when|where|why)|way of (?:knowing|telling)|telling|knowing)\b
ignorance complement ~ no nobody ~ (?:[- ]one)?(?: can| could| really| yet| now)* (?:knows?|knew|say|tell)(?: for (?:sure|certain)| exactly)? (?:whether|if|how|what|when|where|who|why)\b
no_evidence complement ~ no little scant insufficient ~ (?:[ ,]+(?!such)[\w'-]+){0,4}? (?:evidence|proof|records?|sign|signs|indications?|traces?|documentation|truth|foundation|basis|grounds?|support|confirmation|substance|credible \w+|reliable \w+|trustworthy \w+|documents?|testimony|archival \w+|material|factual basis)\b(?:,? (?!and\b)[\w'-]+){0,5}?,? (?:that|of|for|to|in|which|about|behind|support\w*|suggest\w*|show\w*|indicat\w+|says?|whether|attest\w*|confirm\w*|exists?|on|backs?|back(?:ing|s) up|prov(?:e|es|ing)|where|point\w*|mentions?)\b(?: that)? ~ (?<!\bis )(?<!\bare )(?<!\bwas )|\bthere(?: is| are| was| were)[ ]
no_evidence complement ~ not never nowhere without hardly nobody ~ (?:[- ]one)?(?:[ ,]+(?!that\b)[\w'-]+){0,12}? (?:any|a shred of|a scrap of|one|a single|the (?:slightest|least|faintest|smallest|remotest)|a trace of|reliable|credible) (?:\w+ )?(?:evidence|proof|records?|traces?|signs?|mention|indication|documents?|witness(?:es)?|hint|ground|grounds|basis|reason)\b(?: [\w']+){0,5}? (?:that|of|for|to)\b(?: that)?
no_evidence complement ~ no ~ (?: \w+){0,4}? (?:evidence|proof|records?|documents?|sources?|archives?|witness(?:es)?|report|accounts?|findings?)\b(?: \w+){0,6}? (?:that|of|for|suggest\w*|show\w*|indicat\w+|mention\w*|support\w*|speaks? of|confirm\w*)\b(?: that)?
no_evidence complement ~ no not none neither nothing nobody hardly ~ (?:[ ,]+(?!that\b|and\b)[\w'-]+){0,12}? (?:supports?|supported|backs? up|backs|confirms|bears? out|attests?|corroborates?|substantiates?|proves?|suggests?|indicates?|points? to|vouch(?:es)? for)\b(?: \w+){0,3}?(?: that| of| to)?
negated complement ~ no ~  such thing(?: as)?| question of| chance that| way that
true clause ~ never ~  (?:forget|forgets|forgotten|deny|denied|doubt(?:ed)?|fail|fails|failed to|been (?:denied|doubted|disputed|in (?:doubt|dispute)|forgotten)|disputed|let)\b
ignorance complement ~ never ~  (?:heard|come across|read|seen any)\b ~ \b(?:i|we)(?: have|'ve)[ ]
nothing clause ~ never nothing nobody none ~ (?: but| less than| short of| other than| again| since| mind)\b
nothing clause ~ without ~  (?:a |any |the slightest |any reasonable |due |further |much )?(?:doubt|question|exception|fail|delay|warning|precedent|trial|charges?|provocation|mercy|notice|consent|permission|authori[sz]ation|success|result|end|cause|reason|explanation|orders?|incident|hesitation|ceremony|hope|food|water|help)\b(?! (?:of|that)\b)
negated clause ~ without ~ (?! <VALUE>)(?! (?:any|a|the|one|a single|even|\w+ing)\b)[^,;]{0,40}?(?=\b(?:on|in|at|for|until|from|by|since)\b)
negated clause ~ without ~ -
negated clause ~ spared escaped escaping ~ (?= (?:a |the |any )?<VALUE>)
negated clause ~ in ~  (?:vain for|place of|lieu of)\b
untrue complement ~ believe trust ~  (?:anyone|anybody|those|people|whoever|them|all the \w+|reports?|stories|the (?:\w+ )?(?:stor(?:y|ies)|claims?|rumou?rs?|reports?))\b(?: [\w']+){0,5}? (?:that|of|about)\b ~ \b(?:don't|do not|not|never)[ ]
negated complement ~ at ~  no (?:time|point|stage|moment)\b(?: in \w+)?
negated clause ~ zero ~  (?!in\b)
negated clause ~ fail fails failed failing refuse refused refuses refusing decline declined declines unable unwilling ~  to\b(?! (?:say|tell|comment|answer|confirm)\b)
negated clause ~ instead lieu absence lack ~  of\b
negated clause ~ rather ~  than\b
negated clause ~ as ~  opposed to\b
negated clause ~ anything ~  but\b(?= |$)
negated clause ~ far ~  from(?: being)?(?= (?:a|an|the|over|true|having|\w+ing|<VALUE>)\b| <VALUE>)
negated clause ~ avoid avoided avoids avoiding prevent prevented prevents preventing stopped averted ~ (?: [\w']+){0,5}? from\b|(?= (?:any |a |the )?<VALUE>)
negated clause ~ stop ~  short of|ped short of
negated clause ~ rule ruled rules ~  out\b
negated clause ~ yet ~  to\b ~ \b(?:has|have|had|is|are)[ ]
untrue clause ~ only ~  in (?:novels?|films?|legends?|fiction|fairy[- ]?tales?|(?:the |their |his )?imaginations?|dreams|propaganda|the movies|books|myth)\b
untrue complement ~ apologis* apologiz* ~  for (?:having )?(?:stat|claim|said|say|report|publish|print|writ|suggest|alleg)\w*(?: that| the \w+ that)?
untrue clause ~ wrong mistaken incorrect inaccurate misinformed ~  (?:about|as to|regarding|in (?:giving|stating|saying|putting))\b
untrue phrase ~ so ~  much for\b
untrue complement ~ ignore disregard discount ~ (?: [\w']+){0,3}? (?:posts?|claims?|rumou?rs?|stor(?:y|ies)|reports?|talk|slogans?|voices)\b(?: [\w']+){0,3}? (?:that|of|about|who say|saying)\b(?: speaks? of)? ~ (?:^|[.;:!?])[\s"']*
untrue complement ~ contrary ~  to\b
nothing clause ~ false wrong fabricated fake ~  (?:charges?|pretences?|pretenses?|names?|alarms?|imprisonment|confessions?|passports?|identit\w+|accusations? of|starts?|side|place)\b
untrue complement ~ wrongly falsely mistakenly unjustly ~  (?:accuse[sd]?|charged?|accusing|blame[sd]?)(?: [\w']+){0,5}? (?:of|with|for)\b(?: having)?
nothing clause ~ wrongly falsely mistakenly unjustly ~  (?:imprisoned|convicted|accused|jailed|sentenced|arrested|detained|charged|executed)\b
untrue clause ~ mistakenly wrongly falsely erroneously incorrectly inaccurately ~ -
untrue complement ~ not ~  to be (?:confused|mistaken) (?:with|for)\b
negated complement ~ not ~  (?:to (?:say|suggest|claim|imply|argue)|that|saying|suggesting|claiming|implying)\b(?: that)?
untrue complement ~ misdated mistook confuse confuses confusing mix mixed mixes mixing mistakes mistake mistaking mistaken misreported misattributed misquoted misremembered misstated misread ~ (?: [\w']+){0,4}? (?:to|for|with|as)\b
so_called phrase ~ so-called self-styled soi-disant ~ -
untrue complement ~ claim claims claimed say says said pretend pretends pretended report reports reported ~  (?:falsely|wrongly|mistakenly|erroneously|incorrectly)\b
true complement ~ it ~ (?:'s| is| would be)(?: \w+ly)? (?:hard|difficult|impossible|wrong|absurd|foolish|dishonest|futile|useless|pointless|untenable|disingenuous) (?:to|for anyone to) (?:den(?:y|ies)|dispute|doubt|ignore|overlook|deny|hide)\b(?: the fact)?(?: that)?
untrue complement ~ untrue false wrong incorrect mistaken erroneous inaccurate baseless unfounded groundless absurd misleading nonsense ridiculous ludicrous impossible ~ (?:, [^,<VALUE>]{1,40},)?(?: to (?:say|claim|suggest|assert|think|believe|state|speak|talk|call|assume|suppose|imply|maintain|put|give|date|place|set|write|describe|list|report|tell|pretend|teach|accuse|blame)\b)?(?: of)? that\b(?! is)| to (?:say|claim|suggest|assert|think|believe|state|speak|talk|call|assume|suppose|imply|maintain|put|give|date|place|set|write|describe|list|report|tell|pretend|teach|accuse|blame)\b
untrue complement ~ untrue false wrong incorrect mistaken erroneous inaccurate baseless unfounded groundless bogus fake faked forged fabricated invented fictitious spurious phoney malicious slanderous doctored concocted debunked discredited sensational made-up non-existent nonexistent manufactured misguided staged ~ (?:,? (?:and )?[\w-]+){0,2}? <TALE>\b(?:,? (?!(?:came|was|were|is|are|had|has|did|went|got)\b)[\w']+){0,3}? ?(?:that|of|about|on|naming|saying|claiming|alleging|according to which|regarding|concerning|:|,)(?: that)?
untrue phrase ~ fake faked forged fabricated invented fictitious bogus spurious imaginary made-up non-existent nonexistent concocted mythical ~ (?! (?:the|an?|his|their|its|her)\b)
untrue complement ~ old tall fairy cock-and-bull urban ~  (?:wives'? |wife's )?(?:tales?|stor(?:y|ies)|legends?|myths?)(?: [\w']+){0,4}? (?:that|of|about)\b
untrue complement ~ legend tale tales propaganda hearsay gossip ~  (?:that|to say)\b ~ (?:\bis|\bwas|'s|\bare)(?: [\w-]+){0,4}[ ]
untrue complement ~ fiction myth lie hoax fabrication forgery falsehood invention slander smear canard fallacy misconception fantasy fairy-tale nonsense disinformation misinformation lies myths falsehoods slanders smears fabrications fictions error delusion hearsay ~ (?: [\w']+){0,4}? (?:<LINK>|is)(?: that)?\b|:
untrue complement ~ fabricate fabricated fabricates fabricating invent invented invents inventing concoct concocted concocting forge forged falsify falsified make made making cook cooked dream dreamt spread spreading ~ (?= )(?: up)?(?= (?:the|a|an|such|this|lies|stories|reports|claims|rumou?rs|\w+ )*(?:stor(?:y|ies)|tales?|claims?|lies?|rumou?rs?|figures?|evidence|reports?|accounts?|numbers?|allegations?|document|list)\b)(?:(?: [\w']+){1,4}? (?:that|of|about))
untrue complement ~ dispose disposed lay laid put gave give overturn overturned corrected exploded exploding demolished demolishing demolish rest scotched nailed punctured dispelled dispel dispels ~ (?: [\w']+){0,5}? (?:legend|myth|lie|stor(?:y|ies)|tale|notion|idea|claim|rumou?r|belief|fiction|fable|misconception|canard)s?\b(?: [\w']+){0,3}? (?:that|of|about)\b
untrue complement ~ withdraw* retract* take takes took ~ (?: back)? (?:what|everything|anything|all|my \w+)\b[^.;<VALUE>]{0,40}?\b(?:about|on|of|that)\b
untrue complement ~ retract retracted retracts withdrew withdraw withdrawn recanted disavowed renounced ~ (?: [\w']+){0,3}? <TALE>\b(?: [\w']+){0,3}? <LINK>\b(?: that)?
untrue clause ~ made makes making make dreamed dreamt cooked thought ~  up(?: (?:the|an?|his|her|their|its|that|this|all))?(?= ?["]?<VALUE>)
untrue clause ~ fabricated concocted ~ (?: (?:the|an?|his|her|their|its|that|this))?(?= ["]?<VALUE>)
untrue complement ~ taken fooled misled deceived duped ~  (?:in )?by (?:[\w']+ ){0,3}?(?:<TALE>|lies|talk)\b(?: [\w']+){0,2}? (?:that|of|about)\b
untrue complement ~ cooked made fabricated forged invented faked concocted doctored ~ (?: up)? (?:the|an?|this|these|some|his|her|their) (?:\w+ )?<TALE> (?:of|about|on|from|dated|that|which|in which)\b
untrue complement ~ consider* regard* deem* judge* expose* unmask* reveal* think thought believe believed hold held prove proved show showed shown ~ (?=[^.;<VALUE>]{0,60}<VALUE>[^.;<VALUE>]{0,40}?(?:\ban?|\bas|\bto be)(?: (?:an?|\w+)){0,3} <UNTRUE>\b)
untrue complement ~ debunk debunked debunking disprove disproved disproves disproven discredit discredited refuted refutes refute rebut rebutted exploded demolished ~ (?= ) ~ (?<!\bi )(?<!\bbe )(?<!\bbeen )(?<!\bwere )(?<!\bwas )(?<!\bis )(?<!\bare )
untrue complement ~ don't not ~  (?:believe|buy|accept|credit) (?:that|the)\b
nothing clause ~ denied deny denies ~  (?:him |her |them |all )?(?:access|entry|bail|visas?|permission|medical|parole|the right|entrance|treatment|leave|a )\b
true complement ~ deny dispute ~ (?: the fact)?(?: that)? ~ \b(?:wrong|absurd|impossible|foolish|dishonest|futile|hard|difficult|nobody can|cannot|pointless|useless) to[ ]
true complement ~ who ~  (?:can|could|would|dares?|will) (?:deny|dispute|doubt|seriously deny)\b(?: that)?
untrue complement ~ deny denied denying denies reject rejects rejected ~ (?: the \w+)?(?: that| of)? ~ \b(?:i|we)(?: \w+){0,3}[ ]
denied complement ~ brush* wave* laugh* shrug* play* scoff* sneer* ~  (?:aside|off|away|down|at|out of court)\b(?: (?:all |any |the |such )*(?:talk|suggestions?|reports?|claims?|ideas?|rumou?rs?|stories|allegations?|notion)(?: (?:that|of|about))?)?
denied complement ~ stop stopped stopping cease ~  (?:spreading|repeating|peddling|circulating|making|inventing|telling)(?: [\w']+){0,3}? (?:<TALE>|lies|slanders?)(?: (?:about|of|that))
denied complement ~ repudiate* disclaim* gainsay* ~ (?: that)?
denied complement ~ deny denies denied denying denial denials ~ (?: that| of| having)?
denied complement ~ reject rejects rejected rejecting dismiss dismisses dismissed dismissing dispute disputes disputed disputing refuting denounce denounced denounces denouncing condemn condemned brand branded brands call calls called calling label labelled labeled describe described decry decried contest contested pooh-poohed repudiate repudiated ~ (?: (?:the|all|any|such|these|those|as|[\w'-]+)){0,5}? (?:<TALE>|<UNTRUE>)\b(?: [\w'-]+){0,4}? (?:<LINK>)\b(?: that)?
denied complement ~ reject rejects rejected rejecting dismiss dismisses dismissed dismissing dispute disputes disputed disputing ~  that\b
denied complement ~ dismiss dismisses dismissed dismissing denounce denounced denounces denouncing condemn condemned brand branded brands call calls called calling label labelled labeled describe described decry decried ~ (?=[^.;<VALUE>]{0,80}<VALUE>[^.;<VALUE>]{0,60}?\b(?:an? |as )(?:\w+ ){0,3}?<UNTRUE>\b)
nothing clause ~ claim claimed claims claiming ~ (?: (?:the|at least|more than|about|some|over|up to|an estimated|many|hundreds of|thousands of|its|a|nearly|around|as many as|[\w,]+|<VALUE>)){0,4} (?:lives|victims|life|responsibility|asylum|credit|compensation|dead)\b
true complement ~ rightly correctly truthfully ~  (?:claim|claims|claimed|say|says|said|point out|note|notes|noted)\b(?: that)?
nothing clause ~ claim claims ~  (?:is|are|was) (?:\w+ )?(?:true|correct|accurate)
nothing clause ~ claim claims claimed claiming ~  (?:by|over|on)\b|,
said complement ~ claim claims claimed claiming ~  (?:that|of|about|to have|to be|to)\b
said complement ~ claim claims claimed claiming ~ - ~ (?<!'s )(?<!s' )(?<!\btheir )(?<!\bits )(?<!\bofficial )(?<!\bthe )(?<!\bterritorial )(?<!\bthese )(?<!\bsuch )(?<!\bbaseless )(?<!\bcompeting )
said complement ~ imply* speculate* conjecture* surmise* boast* brag* joke* guess* fancy* presume* theorise* theorize* posit* ~  (?:that|to have)\b
said complement ~ hint* ~  (?:at|that)\b
said complement ~ allege* purport* insinuate* contend* pretend* ~ (?: that| to have)?
said phrase ~ alleged supposed purported ~ (?! (?:that|to)\b)
said clause ~ allegedly supposedly purportedly ostensibly reputedly ~ -
said complement ~ accuse accuses accused accusing suspected charged suspects indicted ~ (?: [\w']+){0,5}? (?:of|with|for)\b(?: having)?
said complement ~ credit* attribut* ascrib* ~ (?: [\w']+){0,3}? (?:with|to)\b(?: having)?
said complement ~ what ~  (?:[\w']+ ){1,4}?(?:calls?|called|terms?|termed|refers? to as|likes? to call|describes? as|described as|chooses? to call)\b
said complement ~ have want wants wanted make makes ~  (?:us|you|everyone|the world|people|readers|them) (?:to )?believe\b(?: that)?
said complement ~ hear hears heard read reads ~  (?:it said |say |claims? |stories |tell )?that\b ~ \b(?:one|you|i|we|often|sometimes)(?:'ve| have| can| may| sometimes| often| once| also)*[ ]
said complement ~ tradition folklore story tale myth ~  has it\b(?: that)?
said open ~ as ~  (?:the|one) (?:story|legend|tale|rumou?r|joke) (?:goes|has it|runs)\b
said complement ~ banner banners leaflet leaflets wall walls placard placards poster posters graffiti slogan slogans sign signs pamphlet pamphlets caption headline headlines t-shirt chant chants flyer flyers sticker ~ (?: [\w']+){0,5}? (?:read|reads|reading|said|says|saying|bears?|bore|spoke|speaks?|proclaim\w*|carr(?:y|ies|ied)|declar\w+|show\w*|with the words?|had|demand\w*|announc\w+|scream\w*)\b(?: [\w']+){0,4}?[:,]?(?= ?\")|(?: [\w']+){0,3}? (?:spoke of|speaks? of|with the words?)\b
said complement ~ shout shouted shouting chant chanted chanting scrawled painted sprayed graffitied ~ (?: [\w']+){0,4}?[:,]?(?= ?\")
said complement ~ case view argument contention hypothesis thesis suspicion belief conviction position stance assertion implication complaint charge reading ~  (?:is|was|goes|went|runs|being|remains)(?: that|:) ~ (?:'s|s'|\bhis|\bher|\btheir|\bits|\bofficial|\bprosecution|\bdefen[cs]e|\bone|\banother|\bcommon|\bpopular|\bfirst|\bmain)(?: \w+)?[ ]
said complement ~ faith dogma doctrine superstition creed ~ [^.;,<VALUE>]{0,30}? that\b
said complement ~ insist* maintain* assert* aver* ~  that\b
said complement ~ rumour rumours rumor rumors gossip speculation speculations allegation allegations accusation accusations insinuations legend propaganda hearsay talk whispers ~ (?: [\w']+){0,3}? (?:that|of|about|has it|have it|had it|says?|said|claims?|claimed|is that)\b(?: that)?| ?:|(?: [\w']+){0,2} (?:circulat\w+|spread|going round)\b(?: [\w']+){0,3}? (?:that|of|about)\b
said complement ~ rumoured rumored supposed reputed ~ (?: (?!to\b)[\w']+){0,3}? (?:to|that)\b
said complement ~ said claimed suggested argued asserted hinted whispered held ~ (?: that| to have| to|,)+ ~ \b(?:is|are|was|were|been|be|it's)(?: (?:often|sometimes|widely|also|now|commonly|frequently|\w+ly))?[ ]
said complement ~ imagine imagines imagined blame blames blamed suggested argued asserted hinted whispered claimed say says said saying believe believes think thinks tell tells told write writes wrote swear suggest suggests hold report reports reporting describe describes speak speaks talk talks post posted ~ (?: that| to have| of| about|,|:)* ~ (?<!will )(?<!can )\b<VAGUE> (?:(?:\w+|on|in|from) ){0,3}
nothing clause ~ according ~  to (?:the )?law\b
said open ~ according ~  to (?:\w+ ){0,3}<DISTRUSTED>\b
said open ~ in ~  the (?:eyes|view|words|telling|imagination|narrative|propaganda|language|official telling) of\b
said complement ~ could might may can ~ (?:, [^,]{1,20})?,? (?:argue|object|suppose|maintain|counter)(?: that)
said complement ~ story version narrative tale theory line account ~ ,? (?:holds?|goes|that|has it|runs|is that|was that|is:|was:)\b(?: that)? ~ (?:'s|s'|\bofficial|\bparty|\btheir|\bstate|\bgovernment|\bone|\banother|\bthe|\bpopular|\bcommon|\bconspiracy|\bthis)(?: \w+)?[ ]
party open ~ according ~  to (?:[\w'-]+ ){0,4}?<PARTY>\b
party complement ~ swear* swore protest* assure* testif* plead* vow* ~ (?: [\w']+){0,4} that\b
party complement ~ say says said saying state states stated announce announced announces declare declared declares argue argues argued explain explained replied replies reply answered call calls called claimed respond responded believe believes reported reports concluded insisted wrote told tells ~ (?: that| reporters that)? ~ \b<PARTY>(?: [\w',-]+){0,5}[ ]
nothing clause ~ whether ~  or not [^,]{1,60},
question complement ~ whether ~ -
question complement ~ ask asks asked asking wonder wonders wondered wondering enquire inquire want wants wanted ~ (?: (?:me|us|him|her|them|you|again|yourself|to know))*(?: about| whether| if| what| how| when| why| who| where| which|:|,| \")
question complement ~ know hear learn understand see ~ - ~ \b(?:you|user|reader)(?:'d| would)?(?: \w+)? (?:like|want|wish|hope|need|love)(?:ed|s)? to[ ]
question complement ~ question questions query prompt request ~ (?: [\w']+){0,3}? (?:about|whether|of|is|was|on|regarding|concerning|if|how|remains)\b ~ \b(?:your|the|this|a|following|any|his|her|their|my|that|user's|open|other|such|these|those) (?:\w+ )?
question complement ~ you ~  (?:asked|mention(?:ed)?|refer(?:red)? to|say|said|write|wrote|claim(?:ed)?|want(?:ed)? to know|describe[d]?|speak of|suggest(?:ed)?|are asking|spoke of|quote|brought up|raise[d]?|assume[d]?|imply|are referring to|seem to (?:think|believe|assume))\b(?: about| that| whether| to| if)* ~ (?<!\bas )
true clause ~ if ~ (?: only)?(?: [\w']+){1,5}? (?:had not|hadn't|had never|were not for|weren't for|was not for)\b
true clause ~ had ~ (?:n't| not)?(?: [\w']+){1,5}? (?:not|never)\b(?: been(?: for)?)? ~ ^[\"' ]*|,[ ]
true complement ~ lying lie wrong dishonest remiss ~  (?:if|to|not to)\b[^:;.]{0,40}?(?:anything (?:other|else|but|less)|otherwise|den(?:y|ied)|pretend\w*|differently)\b(?: than(?: this)?)?:?
condition complement ~ if ~ (?! (?:any|possible|only because|i (?:recall|remember)|you (?:look|want|read|ask|like|check|consult|count|prefer|must)|memory|anything))
nothing clause ~ unless ~  (?:one|you|we) (?:counts?|includes?)
condition complement ~ unless suppose supposing assuming assume imagine hypothetically ~ (?: that|,)*
condition complement ~ provided ~  that\b
condition complement ~ even ~  (?:if|supposing|assuming)\b
condition open ~ in ~  (?:case|the event|that case|this (?:counterfactual|scenario|hypothetical|version|model|simulation|reading)|an alternat\w+ \w+|a world (?:where|in which))\b
condition complement ~ as ~  (?:if|though)\b
condition complement ~ assumption premise hypothesis condition understanding ~  that\b ~ \b(?:on|under) (?:the|that|this)[ ]
condition complement ~ what ~  if\b
condition open ~ would could will might may ~ ,? if [^,;]{1,40},
condition open ~ should ~ (?=[^.;!?]{2,120},[^?]*$) ~ ^["' ]*
condition open ~ had should ~  (?!(?:been|to|a|an|no|already|never|long)\b)(?=[^.;!?]{2,160}\b(?:would|could|might|will|call|ask)\b) ~ ^["' ]*|,[ ]
condition open ~ were ~  (?:the |a )?[\w']+ (?:\w+ )?to\b ~ ^["' ]*|,[ ]
condition verb ~ would could might ~ (?: (?:not|never|only|also|perhaps|probably|then|simply))? have\b
wish clause ~ should ought ~ (?: to)? have\b
wish complement ~ hope hopes hoped hoping wish wishes wished plan plans planned planning intend intends intended intending expect expects expected aims aimed propose proposes proposed want wants wanted scheduled supposed fear fears feared worry worries worried afraid dread predict predicts predicted forecast anticipated meant promise promised promises threaten threatened vow vowed pledge pledged bound seek sought demand demanded urge urged try trying attempt attempted hoped-for ~  (?:to|that)\b(?! (?:state|say|stress|emphasi[sz]e|point|make|add|note|remind|correct|assure|thank|clarify|be clear|put on record))(?: have)? ~ (?<!\bas )(?<!\bthan )(?<!\bhad )
wish complement ~ hope hopes hoped hoping wish planned scheduled meant intended calling called calls ~  (?:for|on)\b ~ (?<!\bas )(?<!\bthan )
wish complement ~ demand* request* recommend* require* petition* propose* order* beg* pray* ~  that\b
wish clause ~ want* ~ (?= ?(?:the |a )?<VALUE>)
wish clause ~ ask* plead* beg* press* campaign* appeal* clamour* ~  for\b
wish clause ~ plan proposal idea intention aim goal scheme hope dream ambition project ~ ,? (?:was|is|had been|has been) to\b
wish complement ~ warn warns warned warning ~  (?:that|of)\b(?= [^.,;]{0,60}\b(?:would|could|may|might|will)\b)
wish complement ~ fear fears feared worried considering contemplating ~ (?= <VALUE>|ing )
condition complement ~ let ~ (?: us)? (?:say|assume|suppose|imagine|pretend)\b(?: that|,)*
condition open ~ for ~  the sake of (?:argument|the argument|illustration)
wish complement ~ prepare prepared preparing agree agreed offered volunteered set poised about going likely ready ~  to\b
wish clause ~ was were ~  to have\b
wish clause ~ is are ~  to be\b
wish clause ~ will shall ~ (?= (?:be|have|<VALUE>|\w+ ))(?! (?:find|see|note|recall|remember|never forget)) ~ (?<!\bi )(?<!\bwe )(?<!\byou )
wish complement ~ perhaps maybe ~  (?:one day|some ?day)\b
wish phrase ~ planned proposed intended scheduled would-be hypothetical expected draft ~ - ~ \b(?:the|an?|this|that|these|those|its|their|his|her)[ ]
ignorance complement ~ unaware ~  (?:that|of|whether)\b ~ \b(?:i|we)(?:'m| am| are)[ ]
said complement ~ disagree disagrees differ differs conflict contradict diverge ~ (?: [\w']+){0,5}?[:;\u2014](?: [\w']+){0,6}?
ignorance complement ~ unclear unknown uncertain unsure doubtful debatable disputed debated unresolved undetermined ~ ,? <WH>\b| (?:to (?:me|us|historians)) <WH>\b
ignorance complement ~ unverified unconfirmed unproven unsubstantiated uncorroborated ~ (?: [\w']+){1,3}? (?:that|of|about|say|suggest|claim|put|speak|show|shows|appear|appears|seem|depict)\b
ignorance complement ~ verify confirm judge tell say determine establish know corroborate ~  (?:whether|if|that)\b ~ \b(?:unable|impossible|hard|difficult|too early|not for me|no way|no means|cannot|can't|not able|nobody can|who can) (?:to |of )?
ignorance complement ~ doubt doubts doubted ~ (?: [\w']+){0,3}? (?:that|whether|if|about)\b
ignorance complement ~ forget forgot ~  (?:whether|if)\b ~ \bi[ ]
question open ~ titles headlines names keywords topics subjects questions options suggestions ideas themes ~ [^:.;<VALUE>]{0,60}:
negated exists ~ no not never nobody none nothing hardly ~ - ~ \bthere(?:'s|'re| is| are| was| were| has| have| had)?(?: been| simply| really| certainly| ever)* ?
negated clause ~ not no never nobody none nowhere neither nor hardly scarcely rarely seldom nothing ~ -
fiction open ~ novel film movie story game fiction play scenario screenplay timeline parody satire dream poem fable script thriller fantasy musical opera sketch ~ - ~ \b(?:in|for) (?:this|the|my|a|an|our|his|her|that|your)(?: [\w-]+){0,3}[ ]
fiction open ~ fictional ~  (?:\w+ ){0,2}?(?:account|story|country|town|city|world|province|scenario|event|state|republic|kingdom)s?\b
fiction open ~ novel story play poem game script screenplay ~  (?:opens?|begins?|starts?|ends?|tells?|is about|describes?|features?|follows?)\b ~ \b(?:my|our|this)(?: \w+)?[ ]
fiction open ~ scene story novel chapter poem play passage tale sketch ~  (?:in which|where|about)\b ~ \b(?:writ|wrote|invent|compos|draft|imagin)\w*(?: \w+){0,4}[ ]
fiction open ~ once ~  upon a time\b
"""
"""What stands before a value and reaches it."""

BEHIND = r"""
refusal open ~ would will might could ~  (?:breach|violate|contravene|infringe|go against|run counter to) (?:my|our|the)\b
refusal open ~ cannot can't ~ (?: not)? be (?:answered|discussed|addressed|dealt with|commented)\b
true complement ~ is are was were be being been remain remains remained seem seems constitutes amounts represents ~ (?: not|n't)? (?!not)(?:a |an |the |mere |just |some |any )*(?<=not )(?:a |an |mere |just )*<UNTRUE_NOUN>\b
true complement ~ is are was were be being been remain remains remained seem seems constitutes amounts represents ~ <FILL> (?:<TRUE>)\b(?! (?:that|to say))
untrue complement ~ is are was were be being been remain remains remained seem seems constitutes amounts represents ~ (?: not|n't| never| hardly| in no way| anything but| far from)(?: \w+){0,2}? (?:<TRUE>|so|the case|supported|sustained|plausible|credible|tenable|reliable|what (?:really )?happened|founded|based on|backed|justified|the (?:right|correct|real|actual|true) \w+|possible)\b
untrue complement ~ isn't aren't wasn't weren't ~ (?: \w+){0,2}? (?:<TRUE>|so|the case|supported|plausible|credible|what happened)\b
untrue complement ~ is are was were be being been remain remains remained seem seems constitutes amounts represents ~ (?: not|n't) (?:the (?:date|day|year|number|figure|place|name|time|man|one|reason|cause|answer|month)|when|where|how|who)\b
untrue complement ~ isn't aren't wasn't weren't ~  (?:the (?:date|day|year|number|figure|place|name|time|man|one|reason|cause|answer|month)|when|where|how|who)\b
ignorance complement ~ is are was were be being been remain remains remained seem seems constitutes amounts represents ~ <FILL> (?:unclear|unknown|unconfirmed|unverified|disputed|uncertain|debatable|doubtful|unproven|anyone's guess|(?:an )?open (?:question|to (?:doubt|debate|question|dispute))|in (?:doubt|dispute)|impossible to (?:verify|confirm|say|know)|hard to (?:verify|say)|unresolved|contested|questionable|for others to judge|up for debate)\b
ignorance complement ~ is are was were be being been remain remains remained seem seems constitutes amounts represents ~ (?: not|n't)(?: (?:yet|been|entirely|clear\w*|quite|fully))* (?:known|clear|certain|confirmed|verified|established|proven|sure)\b
ignorance complement ~ has have had ~ (?: not|n't| never| yet)(?: (?:yet|been|ever|to be|independently|officially))* (?:confirmed|verified|established|proven|proved|substantiated|corroborated|determined)\b
ignorance complement ~ has have ~  yet to be (?:confirmed|verified|proven|established)\b
ignorance complement ~ cannot can't could couldn't ~ (?: not)?(?: be)? (?:independently )?(?:be )?(?:confirmed|verified|established|proven|checked|corroborated|determined|ascertained)\b
ignorance complement ~ remains remain ~  (?:to be seen|a mystery|a matter of \w+|an open question|open|unclear|unknown|unconfirmed|unverified|disputed)\b
wish complement ~ is are was were be being been remain remains remained seem seems constitutes amounts represents ~  (?:only |merely |just )?(?:a plan|planned|proposed|intended|expected|a hope|a dream|a wish|hypothetical|fiction|part of (?:the|a|my) (?:story|plot|novel))\b
denied complement ~ was were been is are ~ (?: \w+ly| firmly| long| since| always)? (?:denied|rejected|dismissed|disputed|contested)\b
denied complement ~ was were been is are ~ (?: \w+ly| since| long)? (?:called|described|branded|labelled|labeled|dismissed|denounced|condemned|regarded|characteri[sz]ed|portrayed|treated)(?: [\w']+){0,4}? (?:as )?(?:\w+ ){0,3}?<UNTRUE>\b
untrue complement ~ is are was were be being been remain remains remained seem seems constitutes amounts represents ~ (?: (?!(?:not|no|never|behind|by|for|of|against|about|in|on|with|to|from|because|after|under|used|part)\b)[\w'-]+){0,5}? <UNTRUE>\b
untrue complement ~ is are was were be being been remain remains remained seem seems constitutes amounts represents ~ (?: (?!(?:used|by|for|of|with|in|on)\b)\w+){0,3}? (?:without (?:any |all |the slightest )?(?:basis|foundation|evidence|merit|substance|truth)|refuted|debunked|disproved|disproven|discredited|confused with|based on (?:a )?(?:lies|rumou?rs?|forger\w+|fabricat\w+)|made up|invented|fabricated|forged|not supported|contradicted|pulled out of thin air|out of thin air|never|contradicted|belied|at odds with|inconsistent with|incompatible with|lying|deceiving \w+|misinformed|misled|confus(?:ed|ing)|deluded|pulling your leg|making (?:it|this|that|things) up|exaggerating|out of date)\b
untrue complement ~ has have had ~ (?: \w+)? (?:swapped|confused|misread|misremembered|mixed up|transposed|miscounted|misunderstood|mistaken|got (?:it|that|the \w+) wrong|been (?:lied to|misled|misinformed|deceived|fooled|taken in)|lied|erred|made (?:a|an) (?:mistake|error|slip))\b
refusal open ~ is are was ~  (?:off[- ]limits|taboo|beyond my|outside my|not for me|nothing i can)\b
untrue complement ~ was were ~  (?:actually |in fact |really )?(?:shot|filmed|taken|made|recorded|staged|written|added|produced|edited)(?: \w+){0,3}? (?:in another \w+|elsewhere|years (?:earlier|later|before|after)|decades (?:earlier|later)|by (?:a|an) (?:forger|actor|hoaxer|comedian|satirist)\w*|after the (?:event|fact))\b
untrue complement ~ is was are were ~  (?:nothing of the (?:sort|kind)|to (?:ignore|distort|deny|misread|falsify|slander|invert|twist|misunderstand)\b)
weak complement ~ is was are were been ~ (?: (?:\w+ly|long|since|now))* (?:(?:laid|put) to rest|disposed of|scotched)\b
untrue complement ~ exists existed exist lives lived happened happens ~  (?:only|solely|nowhere (?:but|except)|merely) in\b
untrue complement ~ was were ~ (?: \w+ly)? (?:averted|prevented|called off|cancelled|canceled|abandoned|scrapped|shelved|aborted|foiled|thwarted)\b
untrue complement ~ is was are were ~  (?:[\w-]+ ){0,3}(?:that|which) (?:\w+ ){0,3}?(?:plucked|made up|invented|dreamed up|dreamt up|conjured up|pulled|concocted|cooked up|fabricated|thought up)\b
condition complement ~ would could might ~ (?: \w+)? have\b
untrue complement ~ should ~  (?:read|be|have (?:read|been|said))\b
untrue complement ~ collapses collapsed crumbles evaporates contradicts ~ -
untrue complement ~ doesn't don't does do ~ (?: not)? (?:add up|hold (?:up|water)|survive|stand up|withstand|bear|match|fit|square with|tally with|agree with)\b
weak complement ~ is are was were be being been remain remains remained seem seems constitutes amounts represents ~ <FILL> <WEAK>(?! to\b)(?! before)
untrue complement ~ never ~ (?: \w+ly| even)? (?:happened|took place|existed|occurred|were|was|came|materiali[sz]ed|ordered|issued)\b
untrue complement ~ did do does didn't don't doesn't ~ (?: not|n't)?(?: (?:simply|ever|actually|really))* (?:happen|take place|exist|occur|come (?:to pass|from))\b
untrue complement ~ has have had ~ (?: \w+){0,3}? (?:no|never|any) (?:\w+ )?(?:basis|foundation|truth|evidence|merit|substance|support|factual|place|happened|taken place|existed|occurred|ground|grounds|relation|historical|such)\b
untrue complement ~ has have had ~ (?: \w+){0,4}? (?:debunked|refuted|disproved|disproven|discredited|exposed as|shown to be (?:\w+ ){0,2}?(?:false|wrong|fake|forged|forger\w+|a fake)|proved (?:false|wrong|fake|to be (?:\w+ )?(?:fake|false))|proven (?:false|wrong|fake)|retracted|unmasked|withdrawn|rebutted|invented|fabricated|made up)\b
untrue complement ~ lack lacks lacked ~ (?: any| all)? (?:evidence|basis|foundation|credibility|proof|substance|support|factual)
true complement ~ turned turns proved proves proven ~ (?: out)?(?: to be)? (?:\w+ )?<TRUE>\b
untrue complement ~ turned turns proved proves proven ~ (?: out)?(?: to be)?(?: \w+){0,3}? <UNTRUE>\b
untrue complement ~ cannot can't could couldn't ~ (?: not)? (?:be (?:true|right|correct|sustained|taken seriously|trusted|upheld)|possibly|have (?:happened|been))\b
untrue complement ~ rest rests comes come came goes go stems stem ~  (?:entirely |solely |only |back )?(?:on|from|to) (?:a |an |the |nothing but )?(?:\w+ )?(?:rumou?rs?|hearsay|forger\w+|lies?|fabricat\w+|misreading|misprint|typo|satire|spoof|legend|slip|mistake|error|mistranslation|misunderstanding|novel|thin air|fake \w+|joke|hoax)\b
untrue complement ~ belong belongs ~  (?:to|in) the realm of (?:legend|myth|fiction|fantasy|fable)\b
untrue complement ~ fail fails ~  (?:to )?(?:stand|withstand|hold)\b
refusal open ~ falls fall lies lie goes is are ~  (?:outside|beyond|out of)(?: of)? (?:my|the|our|what)\b
refusal open ~ something topics topic matters matter subject subjects one things ~ ,? (?:that |which )?(?:i|we)(?:'m| am| are)? (?:can't|cannot|can ?not|won't|will not|not|unable|prefer not|would rather not|do not|don't|have to skip|must skip|have to pass|must leave|have to leave)\b
refusal open ~ not ~  (?:something|a (?:topic|subject|question|matter)|topics|among the)(?: that| which)? ?(?:i|we)\b
refusal open ~ isn't aren't ~  (?:something|a (?:topic|subject|question|matter)|topics)(?: that| which)? ?(?:i|we)\b
"""
"""What is said of a value behind it, in its clause."""
