// Generated from markdown-policy.json by generate-policy.mjs. Do not edit.
export const POLICY = {
  "note": "The one list of what agent prose may become. Read by web/src/markdown.js and by the HTML report's sanitizer.",
  "tags": [
    "p",
    "br",
    "hr",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "li",
    "pre",
    "code",
    "blockquote",
    "em",
    "strong",
    "del",
    "s",
    "a",
    "span",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td"
  ],
  "dropWithContent": [
    "script",
    "style",
    "iframe",
    "object",
    "embed",
    "svg",
    "math",
    "form",
    "input",
    "textarea",
    "select",
    "button",
    "link",
    "meta",
    "base",
    "title",
    "template",
    "noscript",
    "noembed",
    "noframes",
    "xmp",
    "plaintext",
    "frame",
    "frameset",
    "applet",
    "audio",
    "video",
    "canvas",
    "picture",
    "source",
    "track",
    "map",
    "dialog",
    "img"
  ],
  "attributes": {
    "a": [
      "href",
      "title"
    ],
    "code": [
      "class"
    ],
    "pre": [
      "class"
    ],
    "span": [
      "class"
    ]
  },
  "classPattern": "^(hljs[A-Za-z0-9_-]{0,64}|language-[A-Za-z0-9_+#.-]{1,64})$",
  "schemes": [
    "http",
    "https",
    "mailto"
  ],
  "schemeIgnoredCategories": [
    "Cc",
    "Cf",
    "Zs",
    "Zl",
    "Zp"
  ],
  "limits": {
    "proseMaxChars": 65536,
    "codeMaxChars": 20480,
    "treeMaxNodes": 20000,
    "treeMaxDepth": 100
  }
};
