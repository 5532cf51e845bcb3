// Makes elements without markup, so that no text can become an element or an attribute.

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== "") made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}
