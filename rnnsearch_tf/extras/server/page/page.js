// The page: what the reader types goes to one model or two, and what comes back is shown.

import { Panel } from "./panel.js";
import { Problem, Server } from "./server.js";

const PAUSE = 350; // milliseconds without a key before the text is translated
const LONGEST = 2000; // characters

const sentence = document.getElementById("sentence");
const given = new URLSearchParams(location.search);
const address = (given.get("server") ?? "").trim().replace(/\/+$/, "");
const server = new Server(address);
const panels = ["model", "beside"].map((side) => ({ side, panel: new Panel(side, () => translate()), asked: null }));
let timer = null;
let known = {}; // model → what its export says of it

const chosen = (side) => document.getElementById(side).value.trim();
const written = () => sentence.value.replace(/[^\S\ufeff]+/g, " ").trim();

/** Translate what is written, by every chosen model. */
function translate() {
  clearTimeout(timer);
  remember();
  const text = written();
  const problem = text.length > LONGEST ? `The text is too long: it has ${text.length} characters, and the page takes ${LONGEST}.` : "";
  say(document.getElementById("sentence-problem"), problem);
  arrange();
  for (const each of panels) ask(each, problem ? "" : text);
}

/** Have one model translate the text, and show what it says; an answer that comes too late is dropped. */
async function ask(each, text) {
  each.asked?.abort();
  const model = chosen(each.side);
  if (!model || !text) {
    each.panel.clear();
    return;
  }
  const { signal } = (each.asked = new AbortController());
  each.panel.wait();
  try {
    const answer = await server.translate(model, text, signal);
    each.panel.show(answer);
    announce(`${model}: ${answer.best.translation[0] || "no translation"}`);
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof Problem)) console.error(error);
    each.panel.problem(error instanceof Problem ? error.message : "The model answered something that this page does not understand.");
  }
}

/** The panels of the models that are chosen, under their names. */
function arrange() {
  const place = document.getElementById("panels");
  const used = panels.filter(({ side }) => chosen(side));
  if (place.children.length !== used.length || used.some(({ panel }, n) => place.children[n] !== panel.element)) {
    place.replaceChildren(...used.map(({ panel }) => panel.element));
  }
  for (const { side, panel } of used) panel.name(chosen(side));
}

/** Keep what is written in the address, so that it can be sent to somebody. */
function remember() {
  const kept = new URLSearchParams();
  const values = { text: written(), model: chosen("model"), beside: chosen("beside"), server: address };
  for (const [name, value] of Object.entries(values)) if (value) kept.set(name, value);
  history.replaceState(null, "", kept.size ? `?${kept}` : location.pathname);
}

function say(place, message) {
  place.textContent = message;
  place.hidden = !message;
}

function announce(message) {
  document.getElementById("status").textContent = message;
}

/** The languages of the chosen model, and its examples to click. */
function introduce() {
  const { source, target, examples = [] } = known[chosen("model")] ?? {};
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
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code);
  } catch {
    return code; // no code of a language
  }
}

/** A menu of the models in place of the field for a name. */
function menu(side, models, wanted) {
  const field = document.getElementById(side);
  if (!models.length || (wanted && !models.includes(wanted))) {
    field.value = wanted; // a name that the server does not list stands as it was given
    return;
  }
  const select = document.createElement("select");
  for (const name of side === "beside" ? ["", ...models] : models) {
    const label = name.replace("/versions/", ", version ") || "none";
    select.append(new Option(label, name, false, name === wanted));
  }
  select.id = select.name = side;
  field.replaceWith(select);
}

async function begin() {
  sentence.value = given.get("text") ?? "";
  document.querySelector("#asking fieldset").hidden = !Server.HAS_CHOICE;
  document.getElementById("server").value = address;
  if (address) document.querySelector("#asking details").open = true;
  server.onprogress = (text) => say(document.getElementById("progress"), text);
  known = await server.models();
  const models = Object.keys(known);
  for (const { side } of panels) {
    menu(side, models, given.get(side) ?? (side === "model" ? models[0] ?? "" : ""));
    document.getElementById(side).addEventListener("change", translate);
  }
  document.getElementById("model").addEventListener("change", introduce);
  introduce();
  sentence.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(translate, PAUSE);
  });
  sentence.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return; // Enter also ends what an input method composes
    event.preventDefault();
    translate();
  });
  arrange();
  if (written()) translate();
  document.documentElement.dataset.ready = "";
}

begin();
