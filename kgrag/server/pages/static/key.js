// The key that writes, for as long as this tab is open; nowhere, where the browser keeps nothing.

const NAME = "kgrag key";

export function keptKey() {
  try {
    return sessionStorage.getItem(NAME) ?? "";
  } catch {
    return "";
  }
}

export function keepKey(key) {
  try {
    if (key) sessionStorage.setItem(NAME, key);
    else sessionStorage.removeItem(NAME);
  } catch {
    // it is typed again
  }
}
