// In place of a server: the model of this folder, which the browser runs.

import { Text, UNKNOWN } from "./text.js";

/** What went wrong, said for the reader of the page. */
export class Problem extends Error {}

export class Server {
  static HAS_CHOICE = false; // there is one model

  constructor() {
    this.onprogress = () => {}; // function (text), "" when the model is loaded
    this.model = fetch("model.json").then((answer) => answer.json());
    this.model.catch(() => {}); // reported by each translation
    this.waiting = new Map(); // number of a search → {resolve, reject}
    this.worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.worker.onmessage = ({ data }) => this.#answered(data);
    this.worker.onerror = () => (this.broken = this.#failed("this browser cannot start it"));
    this.searches = 0;
  }

  /** {name: {source, target, examples}} of the model. */
  async models() {
    try {
      const { name, about, bytes } = await this.model;
      if (!this.ready && !this.broken) this.onprogress(`Loading the model, ${Math.ceil(bytes / 1e6)} MB …`);
      return { [name]: about };
    } catch {
      return { model: {} };
    }
  }

  /** What the model answers to a sentence, {best, sure, list}, as a server's signatures would, but without the end symbol's row of
   * the alignment.
   */
  async translate(_, text, signal) {
    const model = await this.model.catch(() => {
      throw new Problem("This page lacks its file model.json, or it is damaged. Copy the whole folder again.");
    });
    if (model.format > FORMAT) throw new Problem("The file model.json is newer than this page. Copy the whole folder again.");
    this.texts ??= [new Text(model.source), new Text(model.target)];
    const [source, target] = this.texts;
    const all = source.tokenize(text);
    const tokens = all.slice(0, model.maximum_source_length);
    const list = tokens.length ? nbest(await this.#search(source.encode(tokens), signal), tokens, target, model) : [EMPTY];
    signal.throwIfAborted();
    if (!list.length) throw new Problem("The model found no translation; its weights may be damaged.");
    const [best] = list;
    return {
      best: {
        translation: [best.text],
        source_tokens: [tokens.join(" ")],
        target_tokens: [best.tokens.join(" ")],
        alignment: [JSON.stringify(best.alignment)],
        source_truncated: [tokens.length < all.length],
      },
      sure: confidenceOf(best, tokens, model.confidence ?? []),
      list: list.length < 2 ? null : {
        translation: [list.map((each) => each.text)],
        length: [list.map((each) => each.length)],
        log_probability: [list.map((each) => each.logProbability)],
        score: [list.map((each) => each.score)],
      },
    };
  }

  /** The outputs of a search, {name: {dims, data}}. One that is not wanted any more does not begin. */
  async #search(ids, signal) {
    await this.last?.catch(() => {});
    signal.throwIfAborted();
    if (this.broken) throw this.broken;
    const number = this.searches++;
    this.last = new Promise((resolve, reject) => this.waiting.set(number, { resolve, reject }));
    this.worker.postMessage({ number, ids });
    return this.last;
  }

  #answered({ ready, number, outputs, error }) {
    if (ready) {
      this.ready = true;
      this.onprogress("");
    } else if (error !== undefined) {
      const problem = this.#failed(error);
      if (number === undefined) this.broken = problem; // the model cannot be loaded
    } else {
      this.waiting.get(number)?.resolve(outputs);
      this.waiting.delete(number);
    }
  }

  #failed(reason) {
    this.onprogress("");
    const problem = new Problem(`The browser cannot run the model (${reason}). Load the page again, or copy its whole folder again.`);
    for (const { reject } of this.waiting.values()) reject(problem);
    this.waiting.clear();
    return problem;
  }
}

const FORMAT = 1; // of model.json
const EMPTY = { text: "", tokens: [], alignment: [], length: 0, logProbability: 0, score: 0 };

/** The n-best list of one sentence, best first, out of the graph's outputs. */
function nbest({ ids, lengths, log_probabilities, scores, alignments }, source, target, model) {
  const [, count, steps, width] = alignments.dims;
  const hypotheses = [];
  for (let n = 0; n < count; n++) {
    if (!lengths.data[n]) continue; // there are fewer
    const words = target.decode([...ids.data.subarray(n * steps, (n + 1) * steps)]);
    const alignment = words.map((_, i) => {
      const row = (n * steps + i) * width;
      return [...alignments.data.subarray(row, row + source.length + 1)];
    });
    const tokens = model.search.replace_unknown ? replaced(words, alignment, source, target, model.lexicon) : words;
    hypotheses.push({
      text: target.detokenize(tokens),
      tokens,
      alignment,
      length: lengths.data[n],
      logProbability: log_probabilities.data[n],
      score: scores.data[n],
    });
  }
  if (!Number.isFinite(hypotheses[0]?.score)) throw new Problem("The model's probabilities are no numbers: export another model.");
  return hypotheses;
}

/**
 * {confidence} of a sentence, σ(w · [1, mean log p, log length]) with the end symbol counted, and 0 without words; null without w: the
 * RUN was not calibrated.
 */
function confidenceOf({ tokens, logProbability }, source, w) {
  if (!w.length) return null;
  const length = tokens.length + 1;
  const x = w[0] + (w[1] * logProbability) / length + w[2] * Math.log(length);
  return { confidence: [source.length ? 1 / (1 + Math.exp(-x)) : 0] };
}

/** Each unknown word replaced by the source word with the largest attention weight, or by its translation in the lexicon. */
function replaced(words, alignment, source, target, lexicon = {}) {
  return words.map((word, i) => {
    if (word !== target.side.tokens[UNKNOWN]) return word;
    const row = alignment[i].slice(0, -1); // never the end symbol
    const copied = source[row.indexOf(Math.max(...row))];
    return (Object.hasOwn(lexicon, copied) && lexicon[copied]) || copied;
  });
}
