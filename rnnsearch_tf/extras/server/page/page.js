// The page: what the reader types goes to the model, and what comes back is shown.

import { Panel } from "./panel.js";
import { Problem, Server } from "./server.js";

const PAUSE = 350; // milliseconds without a key before the text is translated

const sentence = document.getElementById("sentence");
const server = new Server();
const panel = new Panel();
let timer = null;
let asked = null;

const written = () => sentence.value.replace(/[^\S\ufeff]+/g, " ").trim();

/** Translate what is written, and show it; an answer that comes too late is dropped. */
async function translate() {
  clearTimeout(timer);
  asked?.abort();
  const text = written();
  history.replaceState(null, "", text ? `?${new URLSearchParams({ text })}` : location.pathname);
  say("");
  if (!text) return panel.clear();
  const { signal } = (asked = new AbortController());
  panel.wait();
  try {
    if (!server.model) introduce(await server.open());
    const answer = await server.translate(text, signal);
    panel.show(answer);
    document.getElementById("status").textContent = answer.translation[0] || "no translation";
  } catch (error) {
    if (signal.aborted) return;
    panel.clear();
    if (!(error instanceof Problem)) console.error(error);
    say(error instanceof Problem ? error.message : "The model answered something that this page does not understand.");
  }
}

function say(message) {
  const place = document.getElementById("problem");
  place.querySelector("span").textContent = message;
  place.hidden = !message;
}

/** The model's name and languages, and its examples to click. */
function introduce({ name, about }) {
  const { source, target, examples = [] } = about;
  document.getElementById("model").textContent = name;
  const place = document.getElementById("examples");
  const buttons = examples.map((text) => {
    const button = document.createElement("button");
    button.type = "button";
    button.lang = source ?? "";
    button.textContent = text;
    button.addEventListener("click", () => {
      sentence.value = text;
      translate();
    });
    return button;
  });
  const languages = source && target ? `From ${languageName(source)} to ${languageName(target)}. ` : "";
  place.replaceChildren(languages, ...(buttons.length ? ["Try: ", ...buttons] : []));
  place.hidden = !languages && !buttons.length;
  sentence.lang = source ?? "";
}

function languageName(code) {
  return new Intl.DisplayNames(["en"], { type: "language" }).of(code);
}

async function begin() {
  sentence.value = new URLSearchParams(location.search).get("text") ?? "";
  document.querySelector("#problem button").addEventListener("click", translate);
  sentence.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(translate, PAUSE);
  });
  sentence.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return; // Enter also ends what an input method composes
    event.preventDefault();
    translate();
  });
  try {
    introduce(await server.open());
  } catch (error) {
    say(error.message);
  }
  if (written()) await translate();
  document.documentElement.dataset.ready = "";
}

begin();
