// Text of one side of a model: text → tokens → ids, and ids → tokens → text, as rnnsearch_tf/text does it.

export const PAD = 0;
export const END = 1;
export const UNKNOWN = 2;
const WORD_START = "\u2581"; // SentencePiece's symbol for the space before a word
const MOST_MARKS = 30; // combining marks in a row
const UNKNOWN_PENALTY = 10; // of a character that no piece has, below the score of the rarest piece

const SPACES = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;
const CONTROL = /[\x00-\x1f]/g;
const INVISIBLE = /[\x80-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g;
const TOO_MANY_MARKS = new RegExp(`(\\p{M}{${MOST_MARKS}})\\p{M}+`, "gu");

export class Text {
  /**
   * side: {tokenization, lowercase, unicode_form, remove_invisible, tokens}, and for SentencePiece the scores of the tokens:
   * their natural log-probabilities.
   */
  constructor(side) {
    this.side = side;
    this.ids = new Map(side.tokens.map((token, id) => [token, id]).slice(UNKNOWN + 1));
    this.segment = side.tokenization === "sentencepiece" ? pieces(this.ids, side.scores) : (text) => text.split(" ").filter(Boolean);
  }

  /** Normalize a sentence, lower-case it if configured, and split it into tokens. */
  tokenize(text) {
    const clean = cleaned(normalized(text, this.side));
    return this.segment(this.side.lowercase ? clean.toLowerCase() : clean);
  }

  /** Ids of tokens, the end symbol last. */
  encode(tokens) {
    return [...tokens.map((token) => this.ids.get(token) ?? UNKNOWN), END];
  }

  /** Tokens of ids, up to the end symbol. */
  decode(ids) {
    const end = ids.indexOf(END);
    return ids.slice(0, end < 0 ? ids.length : end).filter((id) => id !== PAD).map((id) => this.side.tokens[id]);
  }

  /** Join tokens into text. */
  detokenize(tokens) {
    if (this.side.tokenization === "space") return tokens.join(" ");
    return tokens.join("").replaceAll(WORD_START, " ").replace(/^[ \t-\r]+|[ \t-\r]+$/g, "");
  }
}

function normalized(text, { unicode_form, remove_invisible }) {
  const valid = text.replace(/\p{Surrogate}/gu, "\ufffd");
  const visible = remove_invisible ? valid.replace(INVISIBLE, "") : valid;
  return unicode_form === "none" ? visible : visible.replace(TOO_MANY_MARKS, "$1").normalize(unicode_form);
}

/** One space in place of each run of white space, no ASCII control characters. */
function cleaned(text) {
  return text.replace(SPACES, " ").replace(CONTROL, "").replace(SPACES, " ").replace(/^ | $/g, "");
}

/**
 * A function that splits text into the pieces of the largest probability, by Viterbi's algorithm (Kudo 2018).
 *
 * Of equal paths SentencePiece keeps the first, and it compares a sum in double precision with a stored one in single precision.
 */
function pieces(ids, scores) {
  const longest = [...ids.keys()].reduce((most, piece) => Math.max(most, [...piece].length), 0);
  const unknown = Math.fround(scores.slice(UNKNOWN + 1).reduce((least, score) => Math.min(least, score), Infinity) - UNKNOWN_PENALTY);
  return (text) => {
    if (!text) return [];
    const characters = [...(WORD_START + text.replaceAll(WORD_START, "_").replaceAll(" ", WORD_START))];
    const best = Array.from({ length: characters.length + 1 }, () => ({ score: -Infinity, start: -1, known: true }));
    best[0].score = 0;
    for (let start = 0; start < characters.length; start++) {
      const offer = (end, total, known) => {
        if (total > best[end].score) best[end] = { score: Math.fround(total), start, known };
      };
      let piece = "";
      for (let end = start + 1; end <= Math.min(start + longest, characters.length); end++) {
        piece += characters[end - 1];
        const id = ids.get(piece);
        if (id !== undefined) offer(end, best[start].score + scores[id], true);
        else if (end === start + 1) offer(end, Math.fround(best[start].score + unknown), false);
      }
    }
    return backwards(characters, best);
  };
}

/** The pieces of the best path; unknown characters in a row are one piece. */
function backwards(characters, best) {
  const found = [];
  for (let end = characters.length; end > 0; end = best[end].start) {
    const { start, known } = best[end];
    const piece = characters.slice(start, end).join("");
    if (!known && found.at(-1)?.known === false) found.at(-1).piece = piece + found.at(-1).piece;
    else found.push({ piece, known });
  }
  return found.reverse().map(({ piece }) => piece);
}
