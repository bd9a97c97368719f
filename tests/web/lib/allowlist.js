// Checks a rendered DOM against SECURITY's allowlist, written apart from web/src so that a mistake there is seen here.
const TAGS = new Set(
  "p br hr h1 h2 h3 h4 h5 h6 ul ol li pre code blockquote em strong del s a span table thead tbody tr th td".split(" "),
);
const ATTRIBUTES = { a: ["href", "title", "rel", "target"], code: ["class"], pre: ["class"], span: ["class"] };
const OURS = new Set(["link-host"]);

/** Every way in which the elements under `root` break the allowlist; runs in a page too, so it closes over nothing. */
export function violations(root) {
  const found = [];
  for (const element of root.querySelectorAll("*")) {
    const tag = element.localName;
    if (!TAGS.has(tag)) found.push(`element ${tag}`);
    for (const { name, value } of element.attributes) {
      if (!(ATTRIBUTES[tag] ?? []).includes(name)) found.push(`attribute ${tag}@${name}`);
      if (name === "class") {
        for (const token of value.split(/\s+/).filter(Boolean)) {
          if (!/^hljs/.test(token) && !/^language-/.test(token) && !OURS.has(token)) found.push(`class ${token}`);
        }
      }
      if (
        name === "href" &&
        !["http:", "https:", "mailto:"].includes(new URL(value, "http://console.test/").protocol)
      ) {
        found.push(`href ${value}`);
      }
      if (name === "rel" && value !== "noopener noreferrer") found.push(`rel ${value}`);
    }
  }
  return found;
}

/** Source of `violations` for page.evaluate: an expression that gives the function. */
export const violationsSource = `(() => {
  const TAGS = new Set(${JSON.stringify([...TAGS])});
  const ATTRIBUTES = ${JSON.stringify(ATTRIBUTES)};
  const OURS = new Set(${JSON.stringify([...OURS])});
  return ${violations.toString()};
})()`;
