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
   * What the model answers to a sentence: the outputs of nbest of this row, or those of translate as a list of one.
   */
  async translate(text, signal) {
    const signature_name = ["nbest", "translate"].find((name) => this.signatures.includes(name));
    if (!signature_name) throw new Problem("The model is no translation model of this project: it has no signature translate.");
    const body = JSON.stringify({ signature_name, inputs: { text: [text] } });
    const { outputs } = await json(`${this.path}:predict`, { method: "POST", body, signal });
    const row = Object.fromEntries(Object.entries(outputs).map(([name, values]) => [name, values[0]]));
    if (signature_name === "nbest") return row;
    return { translation: [row.translation], score: [row.score], probability: [row.probability], source_truncated: row.source_truncated };
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
