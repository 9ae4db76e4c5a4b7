// The REST interface of the server of this page.

/** What went wrong, said for the reader of the page. */
export class Problem extends Error {}

export class Server {
  /** Ask which model there is: {name, about: what its export says of it}. */
  async open() {
    const model = await json("model.json");
    this.path = `v1/models/${encodeURIComponent(model.name)}`;
    const { metadata } = await json(`${this.path}/metadata`);
    this.signatures = Object.keys(metadata.signature_def.signature_def);
    return (this.model = model);
  }

  /**
   * What the model answers to a sentence: {best, list, score}, each of one row.
   *
   * best: outputs of translate_aligned, or those of translate alone; list: those of translate_nbest, score: those of score of
   * the best translation; null where the model has no such signature.
   */
  async translate(text, signal) {
    const best = ["translate_aligned", "translate"].find((name) => this.signatures.includes(name));
    if (!best) throw new Problem("The model is no translation model of this project: it has no signature translate.");
    const [first, list] = await Promise.all([best, "translate_nbest"].map((name) => this.#ask(name, { text: [text] }, signal)));
    const score = await this.#ask("score", { source: [text], target: first.translation }, signal);
    return { best: first, list, score };
  }

  async #ask(signature_name, inputs, signal) {
    if (!this.signatures.includes(signature_name)) return null;
    const body = JSON.stringify({ signature_name, inputs });
    return (await json(`${this.path}:predict`, { method: "POST", body, signal })).outputs;
  }
}

async function json(path, request) {
  let answer;
  try {
    answer = await fetch(path, request);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The server does not answer. Start it again, then try again.");
  }
  const document = await answer.json().catch(() => ({}));
  if (answer.ok) return document;
  if (answer.status === 504) throw new Problem("The translation took longer than the server allows. Try a shorter sentence.");
  throw new Problem(`The server refused the text: ${document.error ?? `status ${answer.status}`}`);
}
