// One model's answer on the page: its translation, and the words that can be followed.

import { attentionOfWords, confidenceOfWords, percent, smallPercent, textWithWords, wordsOf } from "./words.js";

const HINT = "Point at a word, or move to it with Tab, to follow it.";
const UNSURE = 0.5; // a word below is marked
const UNLIKE = 0.3; // of a sentence below the reader is told
const VISIBLE = 0.02; // a thread of less weight is not drawn
const NAMED = 0.05; // a word of less weight is not named
const LONG = 12; // words of a sentence whose table gets a row of its own
const SVG = "http://www.w3.org/2000/svg";

export class Panel {
  #hint = HINT; // what the readout says while no word is followed
  #isFollowing = false;

  /** side: "model" or "beside"; again: function without arguments, called when the reader wants another try. */
  constructor(side, again) {
    this.element = document.getElementById("panel").content.firstElementChild.cloneNode(true);
    this.title = this.#part("h2");
    this.title.id = `title-of-${side}`;
    this.element.setAttribute("aria-labelledby", this.title.id);
    this.#part(".readout").id = `readout-of-${side}`;
    this.#part(".problem button").addEventListener("click", again);
    for (const kind of ["mouseover", "focusin"]) this.element.addEventListener(kind, (event) => this.#follow(event.target));
    for (const kind of ["mouseleave", "focusout"]) this.element.addEventListener(kind, () => this.#follow(null));
  }

  name(model) {
    this.title.textContent = model.replace("/versions/", ", version ").replace("/labels/", ", ");
  }

  wait() {
    this.element.hidden = false;
    this.element.setAttribute("aria-busy", "true");
  }

  clear() {
    this.element.hidden = true;
    this.element.removeAttribute("aria-busy");
    this.#part(".problem").hidden = true;
    this.#part(".result").hidden = true;
  }

  problem(message) {
    this.clear();
    this.#part(".problem span").textContent = message;
    this.#part(".problem").hidden = this.element.hidden = false;
  }

  /** What a model answered: the result of Server.translate. */
  show({ best, sure, list }) {
    this.clear();
    const tokens = (name) => (best[name]?.[0] ?? "").split(" ").filter(Boolean);
    const text = best.translation[0];
    this.source = wordsOf(tokens("source_tokens"));
    this.target = wordsOf(best.target_tokens ? tokens("target_tokens") : text.split(/\s+/).filter(Boolean));
    this.matrix = attentionOfWords(JSON.parse(best.alignment?.[0] ?? "[]"), this.source, this.target);
    const numbers = JSON.parse(sure?.word_confidences?.[0] ?? "null"); // a web page has none
    this.confidences = numbers && confidenceOfWords(this.target, sure.words[0].split(" "), numbers);
    this.aligned = this.matrix.some((row) => row.some((weight) => weight > 0));
    this.#hint = this.aligned ? HINT : "This model aligns nothing: it has no attention, or its export leaves it out.";
    this.#part(".readout").textContent = this.#hint;
    this.#part(".result").classList.remove("following");
    this.#isFollowing = false;
    this.#translation(text);
    this.#sureness(sure);
    this.#cut(best);
    this.#part(".looking").hidden = !this.aligned;
    this.#part(".looking").classList.toggle("long", this.source.length > LONG);
    if (this.aligned) {
      this.#threads();
      this.#heatmap();
    }
    this.#list(list, text);
    this.#part(".result").hidden = this.element.hidden = false;
  }

  #part(selector) {
    return this.element.querySelector(selector);
  }

  #translation(text) {
    const line = this.#part(".translation");
    line.replaceChildren(...textWithWords(text, this.target).map(({ text, word }) => (word === null ? text : this.#word("target", word))));
    if (!text) line.textContent = "–";
  }

  /** A word that can be followed, with its confidence below. */
  #word(side, number) {
    const word = element("span", this[side][number].text, "word");
    word.tabIndex = 0;
    word.setAttribute("aria-describedby", this.#part(".readout").id);
    word.dataset[side] = number;
    const confidence = side === "target" ? this.confidences?.[number] : null;
    if (confidence != null) {
      word.style.setProperty("--confidence", confidence.toFixed(3));
      word.classList.add("rated");
      word.classList.toggle("unsure", confidence < UNSURE);
    }
    return word;
  }

  #sureness(sure) {
    const words = this.confidences ? " The line below a word is as long as the model is sure of it; dots: it is not." : "";
    const unlike = sure && sure.confidence[0] < UNLIKE ? " The sentence seems unlike those that the model knows: try other or fewer words." : "";
    this.#part(".sureness").textContent = sure
      ? `${percent(sure.confidence[0])} sure of the sentence.${words}${unlike}`
      : "How sure the model is, it cannot say: its export has no calibration.";
  }

  #cut(best) {
    const note = this.#part(".cut");
    note.hidden = !best.source_truncated?.[0];
    const last = this.source.at(-1)?.text;
    note.textContent = `The sentence is longer than the model reads${last ? `: what stands behind ${quoted(last)} was left out` : ""}.`;
  }

  /** Both sentences as columns, and a thread from each word of the translation to those that it looked at. */
  #threads() {
    const height = Math.max(this.source.length, this.target.length);
    const middle = (side, number) => (height - this[side].length) / 2 + number + 0.5;
    for (const side of ["source", "target"]) {
      const rows = this[side].map((_, number) => {
        const row = document.createElement("li");
        row.dir = "auto";
        if (side === "source") row.append(this.#word(side, number));
        else {
          const word = element("span", this[side][number].text, "word"); // it can be reached in the translation
          word.dataset[side] = number;
          row.append(word);
        }
        return row;
      });
      this.#part(`ol.${side}`).replaceChildren(...rows);
    }
    const drawing = this.#part(".strands svg");
    drawing.setAttribute("viewBox", `0 0 100 ${height}`);
    drawing.style.setProperty("--rows", height);
    const threads = this.#pairs((i, j, weight) => {
      if (weight < VISIBLE) return null;
      const thread = document.createElementNS(SVG, "path");
      const [from, to] = [middle("source", j), middle("target", i)];
      thread.setAttribute("d", `M0 ${from}C45 ${from} 55 ${to} 100 ${to}`);
      thread.style.setProperty("--weight", weight.toFixed(3));
      Object.assign(thread.dataset, { thread: "", source: j, target: i });
      return thread;
    });
    drawing.replaceChildren(...threads.filter(Boolean));
  }

  #heatmap() {
    const corner = document.createElement("td");
    const names = this.source.map(({ text }, j) => heading("col", text, "source", j));
    const head = document.createElement("tr");
    head.append(corner, ...names);
    this.#part(".heatmap thead").replaceChildren(head);
    const cells = this.#pairs((i, j, weight) => {
      const cell = document.createElement("td");
      cell.append(element("span", percent(weight)));
      cell.style.setProperty("--weight", weight.toFixed(3));
      Object.assign(cell.dataset, { cell: "", source: j, target: i });
      return cell;
    });
    const rows = this.target.map(({ text }, i) => {
      const row = document.createElement("tr");
      row.append(heading("row", text, "target", i), ...cells.slice(i * this.source.length, (i + 1) * this.source.length));
      return row;
    });
    this.#part(".heatmap tbody").replaceChildren(...rows);
  }

  /** What a function (i, j, weight) makes of every pair of a target and a source word, in the order of the rows. */
  #pairs(make) {
    return this.target.flatMap((_, i) => this.source.map((_, j) => make(i, j, this.matrix[i][j])));
  }

  #list(list, best) {
    const own = new Set(best.split(/\s+/));
    const rows = (list?.translation[0] ?? []).flatMap((text, n) => {
      if (!list.length[0][n]) return []; // there are fewer than were asked for
      const row = document.createElement("tr");
      const cell = document.createElement("td");
      cell.dir = "auto";
      const words = text.split(/(\s+)/).map((word) => (own.has(word) || !word.trim() ? word : element("em", word)));
      cell.append(...words);
      row.append(cell, element("td", smallPercent(Math.exp(list.log_probability[0][n]))), element("td", list.score[0][n].toFixed(2)));
      return [row];
    });
    this.#part(".nbest tbody").replaceChildren(...rows);
    this.#part(".others").hidden = rows.length === 0;
  }

  /** Follow the word of an element: what it looks at, or what looks at it, is marked; null follows nothing. */
  #follow(at) {
    const followed = at?.closest("[data-source], [data-target]");
    const number = (side) => (followed?.dataset[side] === undefined ? null : Number(followed.dataset[side]));
    const [j, i] = [number("source"), number("target")];
    const result = this.#part(".result");
    if (i === null && j === null) {
      if (at && document.activeElement?.closest(".word")) return; // what has the focus stays followed
      result.classList.remove("following");
      if (this.#isFollowing) this.#part(".readout").textContent = this.#hint;
      this.#isFollowing = false;
      return;
    }
    this.#isFollowing = true;
    result.classList.add("following");
    for (const each of result.querySelectorAll("[data-source], [data-target]")) this.#mark(each, i, j);
    this.#part(".readout").textContent = this.#inWords(i, j);
  }

  #mark(each, i, j) {
    const [source, target] = [each.dataset.source, each.dataset.target].map((value) => (value === undefined ? null : Number(value)));
    const isPair = source !== null && target !== null;
    const own = isPair ? (i === null || target === i) && (j === null || source === j) : (i !== null && target === i) || (j !== null && source === j);
    each.classList.toggle("followed", own);
    if (isPair) return;
    const looks = target === null ? i !== null && this.matrix[i]?.[source] : j !== null && this.matrix[target]?.[j];
    each.style.setProperty("--look", own ? 1 : (looks || 0).toFixed(3));
  }

  /** “été” looks at “been” 74 %, “has” 12 %. 93 % sure. */
  #inWords(i, j) {
    if (i !== null && j !== null) return `${quoted(this.target[i].text)} looks at ${quoted(this.source[j].text)}: ${percent(this.matrix[i][j])}.`;
    if (i === null) {
      const looking = named(this.target, this.matrix.map((row) => row[j]));
      return `${quoted(this.source[j].text)} is looked at by ${looking || "no word for long"}.`;
    }
    const row = this.matrix[i] ?? [];
    const end = row.at(-1) >= NAMED ? [{ text: "the end", weight: row.at(-1) }] : [];
    const looks = named(this.source, row.slice(0, -1), end);
    const looking = this.aligned ? ` looks at ${looks || "nothing"}.` : "";
    const confidence = this.confidences?.[i];
    return `${quoted(this.target[i].text)}${looking}` + (confidence == null ? "" : ` ${percent(confidence)} sure.`);
  }
}

function named(words, weights, more = []) {
  const seen = weights.map((weight, number) => ({ text: quoted(words[number].text), weight })).concat(more);
  const large = seen.filter(({ weight }) => weight >= NAMED).sort((a, b) => b.weight - a.weight);
  return large.map(({ text, weight }) => `${text} ${percent(weight)}`).join(", ");
}

/** A word between quotes, kept apart from the direction of what stands around it. */
function quoted(word) {
  return `“\u2068${word}\u2069”`;
}

function element(name, text, kind = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (kind) made.className = kind;
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
