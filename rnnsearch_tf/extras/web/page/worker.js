// Searches in a thread of its own, so that the page answers to keys meanwhile.

import * as ort from "./onnxruntime/ort.wasm.min.js";

const folder = new URL("./onnxruntime/ort-wasm-simd-threaded", import.meta.url).href;
ort.env.wasm.wasmPaths = { mjs: `${folder}.js`, wasm: `${folder}.wasm` };
ort.env.wasm.numThreads = 1; // more need headers that a plain web host does not send

const options = { graphOptimizationLevel: "basic" }; // others load longer and search no faster
const session = ort.InferenceSession.create(new URL("model.onnx", import.meta.url).href, options);
session.then(
  () => postMessage({ ready: true }),
  (error) => postMessage({ error: String(error.message ?? error) }),
);

/** In: {number, ids: source ids}. Out: {number, outputs: {name: {dims, data}}} or {number, error}. */
onmessage = async ({ data: { number, ids } }) => {
  try {
    const source = new ort.Tensor("int32", Int32Array.from(ids), [1, ids.length]);
    const found = await (await session).run({ source_ids: source });
    const outputs = Object.fromEntries(Object.entries(found).map(([name, { dims, data }]) => [name, { dims, data }]));
    postMessage({ number, outputs });
  } catch (error) {
    postMessage({ number, error: String(error.message ?? error) });
  }
};
