// Guards reads of parsed, hostile documents: a <form> or <img name=...> can shadow node.nextSibling or document.body.
// Each reader calls the prototype's own getter, which markup cannot replace.

const getter = (owner, name) => {
  const { get } = Object.getOwnPropertyDescriptor(owner.prototype, name);
  return (node) => get.call(node);
};

export const nodeType = getter(Node, "nodeType");
export const firstChild = getter(Node, "firstChild");
export const nextSibling = getter(Node, "nextSibling");
export const parentNode = getter(Node, "parentNode");
export const dataOf = getter(CharacterData, "data");
export const localName = getter(Element, "localName");
export const namespaceURI = getter(Element, "namespaceURI");
export const bodyOf = getter(Document, "body");

/** One attribute's value, or null. */
export const attributeOf = (element, name) => Element.prototype.getAttribute.call(element, name);
