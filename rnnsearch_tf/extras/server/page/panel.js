// The model's answer on the page: its translation, its attention, and the words that can be followed.

import { attentionOfWords, percent, probabilitiesOfWords, textWithWords, wordsOf } from "./words.js";

const HINT = "Point at a word, or move to it with Tab, to follow it.";
const NAMED = 0.05; // a word of less weight is not named

const part = (id) => document.getElementById(id);

export class Panel {
  #hint = HINT; // what the readout says while no word is followed

  constructor() {
    for (const kind of ["mouseover", "focusin"]) part("result").addEventListener(kind, (event) => this.#follow(event.target));
    for (const kind of ["mouseleave", "focusout"]) part("result").addEventListener(kind, () => this.#follow(null));
  }

  wait() {
    part("result").setAttribute("aria-busy", "true");
  }

  clear() {
    part("result").hidden = true;
    part("result").removeAttribute("aria-busy");
  }

  /** What the model answered: the result of Server.translate. */
  show(answer) {
    this.clear();
    const tokensOf = (joined) => joined.split(" ").filter(Boolean);
    const text = answer.translation[0];
    this.source = wordsOf(tokensOf(answer.source_tokens));
    this.target = wordsOf(tokensOf(answer.tokens[0]));
    this.matrix = attentionOfWords(answer.alignment[0], this.source, this.target);
    this.probabilities = probabilitiesOfWords(this.target, answer.token_log_probabilities[0]);
    this.aligned = this.matrix.some((row) => row.some((weight) => weight > 0));
    this.#hint = this.aligned ? HINT : "This model has no attention.";
    this.#follow(null);
    part("translation").replaceChildren(
      ...textWithWords(text, this.target).map(({ text, word }) => (word === null ? text : this.#word(word))),
    );
    const mean = percent(answer.probability[0]);
    part("probability").textContent = `Mean probability of a token: ${mean}. The line below a word is as long as its probability.`;
    part("cut").hidden = !answer.source_truncated;
    part("heatmap").parentElement.hidden = !this.aligned;
    if (this.aligned) this.#heatmap();
    this.#list(answer);
    part("result").hidden = false;
  }

  /** A word of the translation that can be followed. */
  #word(number) {
    const word = element("span", this.target[number].text);
    word.className = "word";
    word.tabIndex = 0;
    word.setAttribute("aria-describedby", "readout");
    word.dataset.target = number;
    word.style.setProperty("--probability", this.probabilities[number].toFixed(3));
    return word;
  }

  #heatmap() {
    const head = document.createElement("tr");
    head.append(document.createElement("td"), ...this.source.map(({ text }, j) => heading("col", text, "source", j)));
    part("heatmap").tHead.replaceChildren(head);
    const rows = this.target.map(({ text }, i) => {
      const row = document.createElement("tr");
      const cells = this.source.map((_, j) => {
        const weight = this.matrix[i][j];
        const cell = document.createElement("td");
        cell.append(element("span", percent(weight)));
        cell.style.setProperty("--weight", weight.toFixed(3));
        Object.assign(cell.dataset, { source: j, target: i });
        return cell;
      });
      row.append(heading("row", text, "target", i), ...cells);
      return row;
    });
    part("heatmap").tBodies[0].replaceChildren(...rows);
  }

  #list(list) {
    const rows = list.translation.flatMap((text, n) => {
      if (!list.length[n]) return []; // there are fewer than were asked for
      const row = document.createElement("tr");
      const cell = element("td", text);
      cell.dir = "auto";
      row.append(cell, element("td", percent(Math.exp(list.log_probability[n]))), element("td", list.score[n].toFixed(2)));
      return [row];
    });
    part("nbest").tBodies[0].replaceChildren(...rows);
  }

  /** Follow the word of an element: what it looks at, or what looks at it, is marked; null follows nothing. */
  #follow(at) {
    const followed = at?.closest("[data-source], [data-target]");
    if (at && !followed && document.activeElement?.closest(".word")) return; // what has the focus stays followed
    const number = (each, side) => (each?.dataset[side] === undefined ? null : Number(each.dataset[side]));
    const [j, i] = [number(followed, "source"), number(followed, "target")];
    part("result").classList.toggle("following", Boolean(followed));
    for (const each of part("result").querySelectorAll("[data-source], [data-target]")) {
      const [source, target] = [number(each, "source"), number(each, "target")];
      const isIn = (mine, theirs) => theirs === null || mine === null || mine === theirs;
      const sharesOne = (i !== null && target !== null) || (j !== null && source !== null);
      each.classList.toggle("followed", Boolean(followed) && sharesOne && isIn(source, j) && isIn(target, i));
    }
    part("readout").textContent = followed ? this.#inWords(i, j) : this.#hint;
  }

  /** “été” looks at “been” 74 %, “has” 12 %. */
  #inWords(i, j) {
    if (i !== null && j !== null) return `${quoted(this.target[i].text)} looks at ${quoted(this.source[j].text)}: ${percent(this.matrix[i][j])}.`;
    if (i === null) {
      const looking = named(this.target, this.matrix.map((row) => row[j]));
      return looking ? `${quoted(this.source[j].text)} is looked at by ${looking}.` : `No word looks at ${quoted(this.source[j].text)}.`;
    }
    const looks = named([...this.source, { text: "the end" }], this.matrix[i]);
    const looking = this.aligned ? ` looks at ${looks || "no word in particular"}.` : "";
    return `${quoted(this.target[i].text)}${looking} Probability ${percent(this.probabilities[i])}.`;
  }
}

/** “been” 74 %, “has” 12 %: the words of large weights. */
function named(words, weights) {
  const large = words.map(({ text }, k) => ({ text, weight: weights[k] ?? 0 })).filter(({ weight }) => weight >= NAMED);
  large.sort((a, b) => b.weight - a.weight);
  return large.map(({ text, weight }) => `${quoted(text)} ${percent(weight)}`).join(", ");
}

/** A word between quotes, kept apart from the direction of what stands around it. */
function quoted(word) {
  return `“\u2068${word}\u2069”`;
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function heading(scope, text, side, number) {
  const made = document.createElement("th");
  made.scope = scope;
  made.append(element("span", text));
  made.firstChild.dir = "auto";
  made.dataset[side] = number;
  return made;
}
