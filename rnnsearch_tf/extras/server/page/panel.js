// The model's answer on the page: its translation, its attention, and the words that can be followed.

import { attentionOfWords, percent, probabilitiesOfWords, wordsOf } from "./words.js";

const HINT = "Point at a word, or move to it with Tab, to see where the model looked.";
const NAMED = 0.05; // a word of less weight is not named

const part = (id) => document.getElementById(id);

for (const kind of ["mouseover", "focusin"]) part("result").addEventListener(kind, (event) => follow(event.target));
for (const kind of ["mouseleave", "focusout"]) part("result").addEventListener(kind, () => follow(null));

export function clear() {
  part("result").hidden = true;
  part("result").removeAttribute("aria-busy");
}

/** Show what the model answered to a sentence: its row of the outputs of nbest. */
export function show(answer) {
  clear();
  const source = wordsOf(answer.source_tokens);
  const target = wordsOf(answer.tokens[0]);
  const matrix = attentionOfWords(answer.alignment[0], source, target);
  const probabilities = probabilitiesOfWords(target, answer.token_log_probabilities[0]);
  const words = target.map(({ text }, i) => {
    const word = element("span", text, { className: "word", tabIndex: 0 });
    word.setAttribute("aria-describedby", "readout");
    word.style.setProperty("--probability", probabilities[i].toFixed(3));
    const looks = named([...source, { text: "the end" }], matrix[i]);
    Object.assign(word.dataset, { row: i, said: `${quoted(text)}${looks}. Probability ${percent(probabilities[i])}.` });
    return word;
  });
  part("translation").replaceChildren(...withWords(answer.translation[0], words));
  const mean = percent(answer.probability[0]);
  part("probability").textContent = `Mean probability of a token: ${mean}. The line below a word is as long as its probability.`;
  part("cut").hidden = !answer.source_truncated;
  part("heatmap").parentElement.hidden = !matrix.flat().some((weight) => weight > 0); // of a model without attention
  heatmap(source, target, matrix);
  list(answer);
  follow(null);
  part("result").hidden = false;
  part("status").textContent = answer.translation[0] || "no translation";
}

/** The text with the elements of its words in their places. */
function withWords(text, words) {
  const parts = [];
  let at = 0;
  for (const word of words) {
    const found = text.indexOf(word.textContent, at);
    if (found < 0) continue; // it was written otherwise: the text shows it, it cannot be followed there
    parts.push(text.slice(at, found), word);
    at = found + word.textContent.length;
  }
  return [...parts, text.slice(at)];
}

function heatmap(source, target, matrix) {
  const head = document.createElement("tr");
  head.append(document.createElement("td"), ...source.map(({ text }) => heading("col", text)));
  part("heatmap").tHead.replaceChildren(head);
  const rows = target.map(({ text }, i) => {
    const cells = source.map((other, j) => {
      const said = `${quoted(text)} looks at ${quoted(other.text)}: ${percent(matrix[i][j])}`;
      const cell = element("td", "", { title: said });
      cell.append(element("span", percent(matrix[i][j])));
      cell.style.setProperty("--weight", matrix[i][j].toFixed(3));
      return cell;
    });
    const row = document.createElement("tr");
    row.append(heading("row", text), ...cells);
    return row;
  });
  part("heatmap").tBodies[0].replaceChildren(...rows);
}

function list(answer) {
  const rows = answer.translation.flatMap((text, n) => {
    if (!answer.length[n]) return []; // there are fewer than were asked for
    const row = document.createElement("tr");
    row.append(element("td", text, { dir: "auto" }), element("td", percent(Math.exp(answer.log_probability[n]))), element("td", answer.score[n].toFixed(2)));
    return [row];
  });
  part("nbest").tBodies[0].replaceChildren(...rows);
}

/** Say and mark what the word looks at that is or has this element; null: no word. */
function follow(at) {
  const word = at?.closest(".word");
  part("readout").textContent = word?.dataset.said ?? HINT;
  const rows = [...part("heatmap").tBodies[0].rows];
  rows.forEach((row, i) => row.classList.toggle("dimmed", Boolean(word) && i !== Number(word.dataset.row)));
}

/** looks at “been” 74 %, “has” 12 %: the words of large weights. */
function named(words, weights) {
  const large = words.map(({ text }, k) => ({ text, weight: weights[k] })).filter(({ weight }) => weight >= NAMED);
  large.sort((a, b) => b.weight - a.weight);
  return large.length ? ` looks at ${large.map(({ text, weight }) => `${quoted(text)} ${percent(weight)}`).join(", ")}` : "";
}

/** A word between quotes, kept apart from the direction of what stands around it. */
function quoted(word) {
  return `“\u2068${word}\u2069”`;
}

function element(name, text, properties) {
  return Object.assign(document.createElement(name), { textContent: text, ...properties });
}

function heading(scope, text) {
  const made = element("th", "", { scope });
  made.append(element("span", text, { dir: "auto" }));
  return made;
}
