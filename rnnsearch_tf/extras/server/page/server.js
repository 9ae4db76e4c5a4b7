// The REST interface of a model server: this project's, or tensorflow_model_server.

/** What went wrong, said for the reader of the page. */
export class Problem extends Error {}

export class Server {
  static HAS_CHOICE = true; // of models, and of another server

  /** address: "" for the server of this page, or "http://HOST:PORT". */
  constructor(address) {
    this.address = address;
    this.known = new Map(); // model → its signatures
    this.onprogress = () => {}; // function (text); a server has loaded its models
  }

  /** The models that answer, {name: what its export says of it}, where the server says so; else {}. */
  async models() {
    if (this.address) return {}; // tensorflow_model_server has no such list
    try {
      const answer = await fetch("models.json");
      const { models } = answer.ok ? await answer.json() : { models: [] };
      return Object.fromEntries(models.map(({ name, about }) => [name, about ?? {}]));
    } catch {
      return {};
    }
  }

  /**
   * What a model answers to a sentence: {best, sure, list}.
   *
   * best: outputs of translate_aligned, or those of translate alone; sure: those of confidence, or null; list: those of
   * translate_nbest, or null. Each of one row.
   */
  async translate(model, text, signal) {
    const has = await this.#signatures(model, signal);
    const translating = ["translate_aligned", "translate"].find((name) => has.includes(name));
    if (!translating) throw new Problem(`“${model}” is no translation model of this project: it has no signature translate.`);
    const nbest = has.includes("translate_nbest") ? this.#ask(model, "translate_nbest", { text: [text] }, signal) : null;
    nbest?.catch(() => {}); // what fails there fails below too
    const best = await this.#ask(model, translating, { text: [text] }, signal);
    const pair = { source: [text], target: best.translation };
    const sure = has.includes("confidence") ? await this.#ask(model, "confidence", pair, signal) : null;
    return { best, sure, list: await nbest };
  }

  /** Names of a model's signatures. */
  async #signatures(model, signal) {
    if (!this.known.has(model)) {
      const { metadata } = await this.#json(model, "/metadata", { signal });
      this.known.set(model, Object.keys(metadata.signature_def.signature_def));
    }
    return this.known.get(model);
  }

  /** The outputs of a signature, for inputs {name: [value, …]}. */
  async #ask(model, signature, inputs, signal) {
    // A body without a type of its own is text/plain, which needs no permission beforehand on another server.
    const body = JSON.stringify({ signature_name: signature, inputs });
    return (await this.#json(model, ":predict", { method: "POST", body, signal })).outputs;
  }

  async #json(model, action, request) {
    let answer;
    try {
      answer = await fetch(`${this.address}/v1/models/${model.split("/").map(encodeURIComponent).join("/")}${action}`, request);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      this.known.clear(); // whoever answers next may be another server
      throw new Problem(this.#gone());
    }
    const document = await answer.json().catch(() => ({}));
    if (!answer.ok) {
      this.known.delete(model); // another version may have come, with other signatures
      throw new Problem(inWords(answer.status, document.error, model));
    }
    return document;
  }

  #gone() {
    if (!this.address) return "The server does not answer any more. Start it again, then try again.";
    return (
      `${this.address} does not answer this page. Check that it runs and that this is its REST address; ` +
      "tensorflow_model_server answers pages of other addresses only with --rest_api_enable_cors_support."
    );
  }
}

function inWords(status, message, model) {
  if (status === 404) return `The server has no model “\u2068${model}\u2069” that answers. Check the name.`;
  if (status === 413) return "The text is too long for the server. Translate one sentence at a time.";
  if (status === 429 || status === 503) return "The server has too much to do just now. Try again in a moment.";
  if (status === 504) return "The translation took longer than the server allows. Try a shorter sentence.";
  return `The server refused the text: ${message ?? `status ${status}`}`;
}
