// Words out of tokens, and numbers about words. Nothing here touches the page.

const SPACE = "\u2581"; // how SentencePiece writes the space before a word
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/**
 * Words out of tokens with spaces between them: [{text, places: the places of its tokens}].
 *
 * Tokens are words already, but for the pieces of SentencePiece, which are joined up to the next space. Scripts that are written
 * without spaces keep their pieces apart.
 */
export function wordsOf(tokens) {
  const pieces = tokens.includes(SPACE);
  const words = [];
  tokens.split(" ").forEach((token, place) => {
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
  const columns = [...source.map(({ places }) => places), [matrix[0].length - 1]];
  const share = (i, places) => places.reduce((total, j) => total + matrix[i][j], 0);
  return target.map(({ places: rows }) => columns.map((places) => rows.reduce((total, i) => total + share(i, places), 0) / rows.length));
}

/** The probability of each word: the product of its tokens', whose natural logarithms are given. */
export function probabilitiesOfWords(words, logs) {
  return words.map(({ places }) => Math.exp(places.reduce((total, place) => total + logs[place], 0)));
}

/** 0.873 → "87 %", 0.0134 → "1.3 %"; what is not quite nothing is not "0 %". */
export function percent(share) {
  if (share > 0 && share < 0.001) return "<\u202f0.1\u202f%";
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}\u202f%`;
}
