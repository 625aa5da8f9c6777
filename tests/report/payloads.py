"""Texts that would run a script, break out of markup, or change what a page means, if they were not just text."""

RUN = "globalThis.hacked=1"

TAGS = [
    "img src=x onerror", "svg onload", "body onload", "video src=x onerror", "audio src=x onerror",
    "input autofocus onfocus", "select autofocus onfocus", "textarea autofocus onfocus", "details open ontoggle",
    "marquee onstart", "style onload", "object data=x onerror", "iframe onload", "math><mtext><img src=x onerror",
    "b tabindex=1 onfocus autofocus", "svg><animate attributeName=x dur=1s onbegin", "image src=x onerror",
    "dialog open onclose", "div style=animation:x onanimationstart", "link rel=stylesheet href=x onerror",
]  # fmt: skip
BREAKS = [
    '"', "'", "`", "-->", "]]>", "</title>", "</style>", "</textarea>", "</script>", "</template>", "</noscript>",
    "</option></select>", "</svg>", '"/>', "\\", "\n",
]  # fmt: skip
ADDRESSES = [
    "javascript:{}", "JaVaScRiPt:{}", "java\tscript:{}", "\x01javascript:{}", "data:text/html,<script>{}</script>",
    "vbscript:{}", '<a href="javascript:{}" autofocus>x</a>', '<iframe src="javascript:{}">',
    '<iframe srcdoc="<script>parent.{}</script>">', '<form action="javascript:{}"><button autofocus>',
    '<meta http-equiv="refresh" content="0;url=javascript:{}">', '<base href="javascript:{}//">',
    '<object data="javascript:{}">', '<embed src="javascript:{}">',
]  # fmt: skip
CODE = [
    "${{{}}}", "{{{{{}}}}}", "`+{}+`", "';{};'", '";{};//', "\\u003cimg src=x onerror={}\\u003e",
    "&lt;img src=x onerror={}&gt;", "&#60;img src=x onerror={}&#62;", "%3Cimg src=x onerror={}%3E",
    "＜img src=x onerror={}＞", "+ADw-script+AD4-{}+ADw-/script+AD4-", "constructor.constructor('{}')()",
    "<b>%{{x}}</b><a href=\"javascript:{}\">y</a>", "<!--<script>{}-->", "<![CDATA[<script>{}]]>",
    "<scr<script>ipt>{}</scr</script>ipt>", "<script\x0c>{}</script>", "<SCRIPT/x>{}</SCRIPT>",
]  # fmt: skip
MEANINGS = [
    "__proto__", "constructor", "toString", "=cmd|' /C calc'!A0", "@SUM(1+1)*cmd|' /C calc'!A0",
    "right \u202e to \u2066 left", "\x1b]0;title\x07\x1b[2J", "null", "nul \x00 and bell \x07", "a\u2028b\u2029c",
]  # fmt: skip

PAYLOADS = [
    *(f"<{tag}={RUN}>" for tag in TAGS),
    *(f"{end}><script>{RUN}</script>" for end in BREAKS),
    *(address.format(RUN) for address in ADDRESSES),
    *(code.format(RUN) for code in CODE),
    *MEANINGS,
]
