/** The text of one own case: given, or built from its `repeat`. */
export function textOf(one) {
  if (typeof one.text === "string") return one.text;
  const { prefix = "", part, times, suffix } = one.repeat;
  return prefix + part.repeat(times) + (suffix ? suffix.part.repeat(suffix.times) : "");
}
