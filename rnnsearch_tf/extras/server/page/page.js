// The page: what the reader types goes to the model, and what comes back is shown.

import { clear, show } from "./panel.js";

const PAUSE = 350; // milliseconds without a key before the text is translated

const sentence = document.getElementById("sentence");
const written = () => sentence.value.trim();
let timer = null;
let asked = null;

/** Translate what is written, and show it; an answer that comes too late is dropped. */
async function translate() {
  clearTimeout(timer);
  asked?.abort();
  const text = written();
  history.replaceState(null, "", text ? `?${new URLSearchParams({ text })}` : location.pathname);
  say("");
  if (!text) return clear();
  const { signal } = (asked = new AbortController());
  document.getElementById("result").setAttribute("aria-busy", "true");
  const body = JSON.stringify({ signature_name: "nbest", instances: [text] });
  try {
    const { predictions } = await json(`v1/models/${encodeURIComponent(name)}:predict`, { method: "POST", body, signal });
    show(predictions[0]);
  } catch (error) {
    if (signal.aborted) return;
    clear();
    say(error.message);
  }
}

function say(message) {
  const place = document.getElementById("problem");
  place.textContent = message;
  place.hidden = !message;
}

async function json(path, request) {
  const answer = await fetch(path, request).catch(() => {
    throw new Error("The server does not answer. Start it again, then reload this page.");
  });
  if (answer.ok) return answer.json();
  if (answer.status === 504) throw new Error("The translation took longer than the server allows. Try a shorter sentence.");
  const { error = `status ${answer.status}` } = await answer.json().catch(() => ({}));
  throw new Error(`The server refused the text: ${error}`);
}

/** The model's languages, and its examples to click. */
function introduce({ source, target, examples = [] }) {
  const place = document.getElementById("examples");
  const languageName = (code) => new Intl.DisplayNames(["en"], { type: "language" }).of(code.replaceAll("_", "-"));
  if (source && target) place.append(`From ${languageName(source)} to ${languageName(target)}. `);
  if (examples.length) place.append("Try: ");
  for (const text of examples) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", lang: source ?? "", textContent: text });
    button.addEventListener("click", () => {
      sentence.value = text;
      translate();
    });
    place.append(button);
  }
  sentence.lang = source ?? "";
}

const { name, about } = await json("model.json");
document.getElementById("model").textContent = name;
sentence.value = new URLSearchParams(location.search).get("text") ?? "";
sentence.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(translate, PAUSE);
});
introduce(about);
if (written()) await translate();
document.documentElement.dataset.ready = "";
