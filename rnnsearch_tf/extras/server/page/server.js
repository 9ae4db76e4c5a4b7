// The REST interface of the server of this page.

/** What went wrong, said for the reader of the page. */
export class Problem extends Error {}

export class Server {
  /** Ask which model there is: {name, about: what its export says of it}. */
  async open() {
    return (this.model = await json("model.json"));
  }

  /** What the model answers to a sentence: its row of the outputs of nbest. */
  async translate(text, signal) {
    const path = `v1/models/${encodeURIComponent(this.model.name)}:predict`;
    const body = JSON.stringify({ signature_name: "nbest", instances: [text] });
    const { predictions } = await json(path, { method: "POST", body, signal });
    return predictions[0];
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
