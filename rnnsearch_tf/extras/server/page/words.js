// Words out of tokens, and numbers about words. Nothing here touches the page.

const SPACE = "\u2581"; // how SentencePiece writes the space before a word
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/**
 * Words out of tokens: [{text, places: the places of its tokens}].
 *
 * Tokens are words already, but for the pieces of SentencePiece, which are joined up to the next space. Scripts that are written
 * without spaces keep their pieces apart.
 */
export function wordsOf(tokens) {
  const pieces = tokens.length > 0 && tokens[0].startsWith(SPACE);
  const words = [];
  tokens.forEach((token, place) => {
    const text = pieces ? token.replaceAll(SPACE, "") : token;
    const last = words.at(-1);
    const apart = !pieces || token.startsWith(SPACE) || UNSPACED.test(text) || (last && UNSPACED.test(last.text));
    if (!last || (apart && last.text !== "")) words.push({ text, places: [place] });
    else {
      last.text += text; // a piece that is a space alone belongs to the word after it
      last.places.push(place);
    }
  });
  return words.filter((word) => word.text !== "");
}

/**
 * The attention of words: rows of target words, columns of source words and last the end of the source.
 *
 * A word's row is the mean of its tokens' rows; its column is the sum of theirs.
 */
export function attentionOfWords(matrix, source, target) {
  const end = (row) => row[row.length - 1];
  const sum = (row, word) => word.places.reduce((total, j) => total + row[j], 0);
  return target.map((word) => {
    const rows = word.places.map((i) => matrix[i]).filter(Boolean);
    const mean = (number) => rows.reduce((total, row) => total + number(row), 0) / Math.max(rows.length, 1);
    return [...source.map((other) => mean((row) => sum(row, other))), mean(end)];
  });
}

/** The probability of each word: the product of its tokens', whose natural logarithms are given. */
export function probabilitiesOfWords(words, logs) {
  return words.map(({ places }) => Math.exp(places.reduce((total, place) => total + logs[place], 0)));
}

/** The text cut at its words: [{text, word: number of the word, or null for what stands between}]. */
export function textWithWords(text, words) {
  const parts = [];
  let at = 0;
  words.forEach((word, number) => {
    const found = text.indexOf(word.text, at);
    if (found < 0) return; // it was written otherwise: the text shows it, it cannot be followed there
    if (found > at) parts.push({ text: text.slice(at, found), word: null });
    parts.push({ text: word.text, word: number });
    at = found + word.text.length;
  });
  if (at < text.length) parts.push({ text: text.slice(at), word: null });
  return parts;
}

/** 0.873 → "87 %", 0.0134 → "1.3 %"; what is not quite nothing is not "0 %". */
export function percent(share) {
  if (share > 0 && share < 0.001) return "<\u202f0.1\u202f%";
  return `${share > 0 && share < 0.1 ? (100 * share).toFixed(1) : Math.round(100 * share)}\u202f%`;
}
