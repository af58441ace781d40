"""What hosts say of a check of contents, or of an account, in codes and sentences that no table lists.

Hosts find ever new names for the same. So words count together: a code or a sentence must name both what
was checked (the prompt, the answer) and what was found (it is sensitive, a filter stopped it). A single
word proves nothing: checks fail, inputs are case-sensitive, accounts violate policies.

What a host repeats from the request is none of its words, nor is what it quotes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_CODE = 80
_MAX_READ = 4000
"""So much of an error's words is read: they are one or two sentences."""
_WORDS_OF_CODE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_JUDGED = frozenset(
    {"sensitive", "inappropriate", "unsafe", "prohibited", "harmful", "disallowed", "objectionable"}
)
_MATTER = frozenset(
    {"content", "word", "keyword", "text", "topic", "prompt", "input", "output", "message"}
) | {"question", "query", "response", "answer", "completion"}
_CHECKS = frozenset({"content", "safety", "moderation", "guardrail"})
_STOPS = frozenset(
    {"blocked", "violation", "violated", "filtered", "flagged", "intervened", "censored"}
) | {"moderated", "intercepted"}
_REFUSALS = frozenset({"rejected", "denied", "refused", "triggered", "hit"})
"""These stop contents only where a check of contents is named: any input can be rejected."""
_RISKS = frozenset({"risk", "risky", "illegal"})
_ABOUT_A_REQUEST = frozenset(
    {"failed", "failure", "unavailable", "timeout", "timed", "invalid", "missing", "required"}
) | {"config", "configuration", "parameter", "param", "schema", "type", "format", "encoding"}
_ABOUT_A_REQUEST |= {"length", "size", "limit", "rate", "quota", "token", "tool", "header", "data"}
_ABOUT_A_REQUEST |= {"not", "unsupported", "empty", "disabled", "operation", "case", "constraint"}
_ABOUT_A_REQUEST |= {"key", "account", "user", "ip", "region", "permission", "access", "service"}
_ABOUT_A_REQUEST |= {"model", "system", "upload", "url", "template"}
"""Words of codes that are about something else than the contents."""
_ENDS_A_TEXT = _JUDGED | _STOPS | {"moderation", "moderated", "censorship", "safety", "guardrail"}
_ENDS_A_TEXT |= {"filter", "blocklist", "refusal", "refused", "risk", "risky"}
_ENDS_A_TEXT -= {"violation", "violated"}
"""Words that are enough in a finish reason: it says nothing but why a text ended."""

_OF_ACCOUNTS = frozenset({"account", "user", "balance", "quota", "billing", "credit"})
_ENDED = frozenset({"overdue", "insufficient", "suspended", "disabled", "deactivated", "locked"})
_ENDED |= {"arrears", "exhausted", "banned", "frozen", "expired", "terminated"}


def code_says_block(code: str) -> bool:
    """Return whether a code says outright that contents were blocked: `sensitive_word_detected`."""
    words = _words_of(code)
    if words & _ABOUT_A_REQUEST:
        return False
    if words & _CHECKS and words & _STOPS:
        return True
    # The check itself may have failed.
    return bool(words & _JUDGED and words & _MATTER and not words & {"error", "exception"})


def code_hints_at_block(code: str) -> bool:
    """Return whether a code may say that contents were blocked: `CONTENT_REJECTED`."""
    words = _words_of(code)
    if words & _ABOUT_A_REQUEST:
        return False
    if words & (_CHECKS | {"prompt", "input", "output", "response"}) and words & _STOPS:
        return True
    if words & _CHECKS and words & _REFUSALS:
        return True
    is_policy = words & {"content", "safety"} and words & {"policy", "filter"}
    is_risk = words & _RISKS and words & {"content", "text"}
    return bool((is_policy or is_risk) and not words & {"error", "exception"})


def finish_names_block(reason: str) -> bool:
    """Return whether a finish reason that no table lists says that a filter ended the text."""
    code = re.sub(r"[\s:]+", "_", reason.strip())
    words = _words_of(code)
    if words & (_ABOUT_A_REQUEST | {"error", "exception"}):
        return False
    is_told = words & _ENDS_A_TEXT or re.search(_BAD_ZH, reason)
    return bool(is_told) or code_says_block(code) or code_hints_at_block(code)


def code_names_account(code: str) -> bool:
    """Return whether a code says that the account can pay or do no more: `AccountOverdueError`."""
    words = _words_of(code)
    return bool(words & _OF_ACCOUNTS and words & _ENDED)


def _words_of(code: str) -> frozenset[str]:
    """Return the words that a code is made of, in the singular."""
    if len(code) > _MAX_CODE or not re.fullmatch(r"[\w.:-]+", code):
        return frozenset()
    last = code.rpartition(".")[2]  # before it stands a class, such as "FailedOperation"
    words = (word.lower() for word in _WORDS_OF_CODE.findall(last))
    return frozenset(
        word[:-1] if word.endswith("s") and not word.endswith("ss") and word != "arrears" else word
        for word in words
    )


# --- sentences ------------------------------------------------------------------------------------

_QUOTED = re.compile(
    r"\"[^\"]{2,1000}\"|(?<!\w)'[^']{2,1000}'(?!\w)|“[^”]{2,1000}”"
    r"|`[^`]{2,1000}`|「[^」]{2,1000}」|『[^』]{2,1000}』|«[^»]{2,1000}»"
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|[。！？；\n]")
_THING = (
    r"(?:prompts?|inputs?|outputs?|contents?|texts?|messages?|questions?|quer(?:y|ies)|responses?"
    r"|answers?|completions?|generations?|conversations?|topics?)\b(?!-)"
)
_FOUND = r"(?:sensitive|inappropriate|unsafe|harmful|objectionable|offensive|risky)"
_BAD = rf"(?:{_FOUND}|prohibited|disallowed)"
_KIND = (
    r"(?:contents?|words?|terms?|topics?|keywords?|phrases?|language|materials?|information|subjects?)"
    r"\b(?!(?:[- ]\w+)?[- ]*(?:types?|length|encoding|format|blocks?|parts?))"
)
_STOPPED = (
    r"(?:blocked|rejected|filtered|flagged|refused|denied|stopped|withheld|intercepted|redacted"
    r"|censored|removed|limited|failed|not pass(?:ed)?|not comply|not allowed)"
)
_CHECK = (
    r"(?:(?:content|safety|moderation|censorship|responsible ai|guardrails?|usage|community"
    r"|acceptable[- ]use)(?: \w+)?[ -](?:filter\w*|polic(?:y|ies)|systems?|checks?|reviews?|moderation"
    r"|guidelines?|guardrails?|rules?|standards?|practices?|reasons?)|(?:content )?(?:moderation|guardrails?))"
)
_ENGLISH = re.compile(
    rf"\b(?:contain\w*|includ\w+|involv\w+|has|have|with|trigger\w*|about|detect\w*|hits?|judged|deemed|identified)\b[^.]{{0,40}}?"
    rf"\b(?:{_BAD}|illegal|forbidden|banned)\b[\w ,/]{{0,30}}?\b{_KIND}"
    rf"|\b{_BAD} {_KIND} (?:\w+ )?(?:detected|found)\b"
    rf"|^\W*{_BAD} {_KIND}\s*(?:$|[:(,\[]|rid\b)"
    rf"|\b{_STOPPED}\b[^.]{{0,20}}?(?:\bfor|\bas|\bdue to|\bbecause of|:) (?:\w+ ){{0,3}}?{_FOUND}\b"
    r"|\b(?:prompt|input|output|response|content)s? (?:is|was|were|ha(?:s|ve) been)"
    r" (?:blocked|censored)\b"
    r"|\blaws and regulations\b[^.]{0,40}?\b(?:cannot|can't) be (?:displayed|shown|answered|provided)\b"
    r"|\b(?:suspected|severe) violations?\b"
    rf"|\b{_THING}\b[^.]{{0,30}}?\b(?:is|are|was|were|be|been|deemed|considered|judged|classified as)\b"
    rf" (?:\w+ ){{0,2}}?{_FOUND}\b(?![-\w]| to\b| \w*size| bytes?)"
    rf"|\b{_STOPPED}\b[^.]{{0,60}}?\b{_CHECK}\b"
    rf"|\b{_CHECK}\b[^.]{{0,60}}?\b(?:blocked|rejected|flagged|denied|triggered|censored)\b"
    rf"|\bguardrails?\b[^.]{{0,40}}?\b(?:failed(?! to)|violated|intervened|triggered|blocked)\b"
    rf"|\b{_THING} (?:was |is |were )?blocked (?:due to|by) [\w ]{{0,20}}\bsecurity\b"
    r"|\b(?:violat|trigger|breach)\w*\b[^.]{0,50}?\b(?:content|usage|safety|community|acceptable[- ]use|responsible ai|guardrails?)\b"
    r"[^.]{0,12}?(?:polic(?:y|ies)|guidelines?|rules?|practices?|standards?|regulations?)\b"
    r"|\bviolat\w+ (?:relevant|applicable|local|national) (?:laws|regulations)\b",
    re.IGNORECASE,
)
_ENGLISH_OBJECT = re.compile(rf"\b(?:{_THING}|requests?|guardrails?)\b", re.IGNORECASE)
_CODE_IN_TEXT = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
_ENGLISH_OTHER = re.compile(
    r"\b(?:accounts?|users?(?= (?:ha[sd]|have|is|was|are|were|agents?|locations?|ids?))|keys?|tokens?|quota"
    r"|balance|credits?|billing|plan|rate[- ]?limit\w*|regions?|countr\w+|territor\w+|locations?|ip"
    r"|browser|signature|schema|json|format|parameters?|params?|fields?|headers?|content[- ]type"
    r"|unsupported|not (?:\w+ )?supported|unavailable|timed? ?out|maintenance|organi[sz]ation\w*"
    r"|firewall|waf|permissions?|accept|agree|pii|personal\w*|credentials?|passwords?|secrets?"
    r"|upgraded?|case[- ]sensitive|encoding|charset|services?|servers?|configured|hidden|omitted"
    r"|logs?|logged|details|traces?|websites?|sites?|pages?|projects?|workspaces?|teams?|tenants?|consumers?|deployments?|devices?"
    r"|sessions?|cookies?|origin|clients?|endpoints?|missing|cors|content security policy"
    r"|not (?:\w+ )?(?:contain|includ|violat|block|filter|flag|trigger|sensitive|inappropriate|unsafe"
    r"|harmful|prohibited)\w*)\b",
    re.IGNORECASE,
)
"""What makes a sentence one about something else, or takes back what it says."""
_MATTER_ZH = (
    r"(?:内容|输入|输出|提问|问题|提示词|提示语|文本|消息|请求|回答|回复|对话|生成|话题|语句)"
)
_HOLDS_ZH = r"(?:包含|含有|含|涉及|存在|触发|命中|出现|携带|带有|检测到|识别到)"
_BAD_ZH = r"(?:敏感|违规|违法|不合规|不当|不良|有害|涉政|不安全|违禁|非法)"
_KIND_ZH = r"(?:词|内容|信息|话题|议题|主题|问题|字(?![符段])|语|文本|言论)"
_REVIEW_ZH = r"(?:审核|审查|检测|检查|校验|过滤)"
_CHINESE = re.compile(
    rf"{_HOLDS_ZH}.{{0,12}}?{_BAD_ZH}(?:或\w{{2,4}})?(?:的)?{_KIND_ZH}"
    rf"|{_MATTER_ZH}[^，。]{{0,6}}?(?:涉嫌|疑似|可能|存在|被判定为|被识别为)[^，。]{{0,4}}?{_BAD_ZH}"
    rf"|(?:内容|文本|输入|输出|提问|安全|合规|敏感词?){_REVIEW_ZH}.{{0,3}}?(?:不通过|未通过|没有通过|不合规|未过)"
    rf"|(?:未|未能|没有|没|不)通过.{{0,6}}?(?:内容|安全|合规|敏感词?).{{0,4}}?{_REVIEW_ZH}"
    r"|(?:内容安全|敏感词)(?:拦截|过滤)"
    r"|不符合[^，。]{0,6}?(?:内容|安全|法律|法规)[^，。]{0,4}?(?:规范|政策|要求|规定)"
    r"|内容[^，。]{0,2}?(?:不合规|违规|违法|敏感|不当|不安全|违禁)"
    r"|(?:内容|回答|问题)[^，。]{0,3}?被(?:屏蔽|拦截|过滤)"
    r"|(?:内容|输入|输出|提示词|提问|问题)[^，。]{0,4}?(?:触发|违反)[^，。]{0,4}?安全(?:策略|规则|规范)"
    r"|(?:触发|违反)[^，。]{0,4}?内容[^，。]{0,4}?(?:策略|政策|规范|规则|审核)"
    rf"|{_MATTER_ZH}[^，。]{{0,6}}?违反[^，。]{{0,8}}?(?:法律|法规)"
    r"|(?:法律|法规|政策|规定).{0,16}?(?:无法|不能|不予)(?:显示|展示|回答|回复)"
    rf"|被.{{0,8}}?(?:绿网|内容安全|安全策略|安全过滤|内容过滤|内容审核).{{0,4}}?(?:拦截|阻断|过滤)"
)
_CHINESE_OTHER = re.compile(
    r"账户|账号|帐户|帐号|该用户|用户已|用户被|令牌|密钥|余额|额度|欠费|实名|认证|权限|地区|区域|频率|频繁"
    r"|限流|流控|格式|字段|类型|编码|服务异常|不可用|超时|维护|升级|封禁|租户|应用|项目|下架|下线|访问|来源|签名|网站|网址|日志|防火墙|(?i:\bip)"
    r"|(?:检测|审核|校验|调用|加载|解析|接口|服务)[^，。]{0,4}(?:失败|异常|出错|未开通)"
    r"|参数.{0,6}(?:非法|错误|无效|不合法|缺失|不能为空)"
)

_ACCOUNT = re.compile(
    r"\b(?:account|subscription|api[- ]key) (?:(?:has|have) been |is |was )?"
    r"(?:temporarily |permanently |currently )?"
    r"(?:suspended|deactivated|disabled|locked|terminated|banned|frozen|in arrears)\b"
    r"|\boverdue (?:balance|payment|bills?)\b|\baccount is overdue\b"
    r"|\b(?:insufficient|negative|not enough|out of|no remaining) (?:\w+ )?(?:balance|credits?|funds)\b"
    r"|欠费|(?:账户|账号|帐户|帐号|用户|令牌|密钥)[^，。]{0,12}?(?:冻结|停用|锁定|封禁|封号|禁用|注销)"
    r"|(?:余额|额度|配额)[^，。]{0,3}?(?:不足|用尽|耗尽|用完)",
    re.IGNORECASE,
)


def says_block(text: str) -> bool:
    """Return whether a sentence says that a prompt or an answer was stopped for what it holds.

    ``"Output blocked by content filtering policy"`` → True; ``"Content moderation is down"`` → False.
    The text is in simplified characters.
    """
    plain = _QUOTED.sub(" ", text[:_MAX_READ])
    return any(map(_sentence_says_block, _SENTENCE.split(plain)))


def _sentence_says_block(sentence: str) -> bool:
    if _CHINESE.search(sentence) and not _CHINESE_OTHER.search(sentence):
        return True
    if _ENGLISH_OTHER.search(sentence):
        return False
    if _ENGLISH.search(sentence) and _ENGLISH_OBJECT.search(sentence):
        return True
    return any(map(code_says_block, _CODE_IN_TEXT.findall(sentence)))


def says_account(text: str) -> bool:
    """Return whether a text says that the account has no money left, or was closed."""
    return _ACCOUNT.search(_QUOTED.sub(" ", text[:_MAX_READ])) is not None


# --- what is repeated -----------------------------------------------------------------------------

_RUN = 24
"""So many characters in a row that the request holds too are repeated from it."""
_RUN_ZH = 12
"""So many of Chinese text."""
_MIN_REPEATED = 8
"""A shorter request is not searched for: its words are anybody's."""


def without_repeats(text: str, asked: Iterable[str]) -> str:
    """Return the words of a host without what they repeat from the request.

    A text that the request holds as a whole is left: hosts send sentences that a probe may know.
    """
    repeated = [False] * len(text)
    for each in (each for each in asked if len(each) >= _MIN_REPEATED):
        for size in {min(_RUN, len(each)), min(_RUN_ZH, len(each))}:
            runs = {each[at : at + size] for at in range(len(each) - size + 1)}
            for at in range(len(text) - size + 1):
                run = text[at : at + size]
                if run in runs and (size == min(_RUN, len(each)) or _is_chinese(run)):
                    repeated[at : at + size] = [True] * size
    if all(repeated) and text not in asked:
        return text
    marked = zip(text, repeated, strict=True)
    return "".join(" " if is_repeated else char for char, is_repeated in marked)


def _is_chinese(run: str) -> bool:
    return sum(char >= "\u2e80" for char in run) > len(run) // 2
