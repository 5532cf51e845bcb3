// Texts in the language of the page, as `t("Rows {0} to {1}", 1, 20)`; what has no translation stays English.

export const language = document.documentElement.lang || "en";
const messages = language === "en" ? {} : await read(new URL(`./messages/${language}.json`, import.meta.url));

export function t(text, ...values) {
  return (messages[text] ?? text).replace(/\{(\d)\}/g, (_, at) => values[at]);
}

async function read(address) {
  try {
    return await (await fetch(address)).json();
  } catch {
    return {};
  }
}
