// What the runners of exports without TensorFlow share: text to ids, and back. SentencePiece splits the text, or spaces do.
// Unlike the Python runtime it does not bring text into a Unicode normal form: give it composed characters (NFC), as keyboards
// and most files have them.

#ifndef TEXT_H_
#define TEXT_H_

#include <sentencepiece_processor.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

using Json = nlohmann::json;
using Words = std::vector<std::string>;
using Ids = std::vector<int32_t>;

constexpr int32_t kPad = 0, kEnd = 1, kUnknown = 2;
constexpr int kFormat = 1;  // of the settings

// Throws unless the settings of an export are of this format.
inline void CheckFormat(const Json& settings) {
  if (settings.at("format") > kFormat) throw std::runtime_error("expected settings of format 1, got a newer one; use a newer runner");
}

// Throws if this is no score of a translation: it is -1e9 where the search found none.
inline void CheckScore(float score) {
  if (score > -5e8f) return;
  throw std::runtime_error("expected a translation, got none; the weights contain NaN or Inf, or the model's shortlist and search.allow_unknown exclude every word: export another model");
}

inline std::string FromBase64(const std::string& text) {
  static const std::string kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t buffer = 0;
  int bits = 0;
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == std::string::npos) break;  // padding
    buffer = buffer << 6 | static_cast<uint32_t>(digit);
    bits += 6;
    if (bits >= 8) bytes.push_back(static_cast<char>(buffer >> (bits -= 8) & 0xff));
  }
  return bytes;
}

constexpr char32_t kReplacement = 0xfffd;

// The character at a place of a text in UTF-8, and its number of bytes; U+FFFD for a byte that begins none.
inline std::pair<char32_t, size_t> Character(const std::string& text, size_t at) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[at + k]); };
  if (byte(0) < 0x80) return {byte(0), 1};
  const size_t size = byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
  char32_t character = byte(0) & (0x7f >> size);
  for (size_t k = 1; k < size; ++k) {
    if (byte(0) < 0xc2 || byte(0) > 0xf4 || at + k == text.size() || (byte(k) & 0xc0) != 0x80) return {kReplacement, 1};
    character = character << 6 | (byte(k) & 0x3f);
  }
  const bool overlong = character < (size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000);
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  if (overlong || surrogate || character > 0x10ffff) return {kReplacement, 1};
  return {character, size};
}

// Unicode's white space, as Python has it.
inline bool IsSpace(char32_t c) {
  return (c >= 0x9 && c <= 0xd) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
         c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

// A character that `remove_invisible` removes, as rnnsearch_tf/text/characters.py lists them: zero-width and control characters,
// marks of direction, the soft hyphen.
inline bool IsInvisible(char32_t c) {
  return (c >= 0x80 && c <= 0x9f && c != 0x85) || c == 0xad || c == 0x200b || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x2064) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

// The words between white space, without control characters of ASCII and, if wanted, without invisible characters; a byte that is
// not UTF-8 becomes U+FFFD.
inline Words Split(const std::string& line, bool removes_invisible = false) {
  Words words;
  std::string word;
  const auto end = [&] {
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  for (size_t at = 0; at < line.size();) {
    const auto [character, size] = Character(line, at);
    at += size;
    if (removes_invisible && IsInvisible(character)) continue;
    if (IsSpace(character)) end();
    else if (character == kReplacement) word += "\xef\xbf\xbd";
    else if (character >= 0x20) word += line.substr(at - size, size);
  }
  end();
  return words;
}

// Text of one side: text -> tokens -> ids, and back.
class Text {
 public:
  // Only a side that is tokenized depends on its normalization.
  Text(const Json& side, bool is_source) {
    if (side.at("tokenization") == "sentencepiece") {
      const auto status = pieces_.LoadFromSerializedProto(FromBase64(side.at("subword_model")));
      if (!status.ok()) throw std::runtime_error("expected a SentencePiece model, got: " + std::string(status.ToString()));
      uses_pieces_ = true;
      for (int id = 0; id < pieces_.GetPieceSize(); ++id) tokens_.push_back(pieces_.IdToPiece(id));
    } else if (side.at("tokenization") == "space") {
      tokens_ = side.at("tokens").get<Words>();
    } else {
      throw std::runtime_error("expected tokenization sentencepiece or space, got " + side.at("tokenization").dump());
    }
    if (is_source && (side.at("lowercase").get<bool>() || side.value("unicode_form", "NFC") == "NFKC"))
      throw std::runtime_error("expected a source without the options lowercase and unicode_form NFKC, which this program does not have");
    removes_invisible_ = side.value("remove_invisible", false);
    for (size_t id = kUnknown + 1; id < tokens_.size(); ++id) ids_[tokens_[id]] = static_cast<int32_t>(id);
  }

  Words Tokenize(const std::string& line) const {
    const Words words = Split(line, removes_invisible_);
    if (!uses_pieces_) return words;
    std::string clean;
    for (const std::string& word : words) clean += (clean.empty() ? "" : " ") + word;
    Words tokens;
    if (!clean.empty()) pieces_.Encode(clean, &tokens);
    return tokens;
  }

  Ids Encode(const Words& tokens) const {
    Ids ids;
    for (const std::string& token : tokens) {
      const auto found = ids_.find(token);
      ids.push_back(found == ids_.end() ? kUnknown : found->second);
    }
    ids.push_back(kEnd);
    return ids;
  }

  const std::string& Token(int32_t id) const { return tokens_.at(id); }

  std::string Detokenize(const Words& tokens) const {
    static const std::string kSpace = "\xe2\x96\x81";  // U+2581, SentencePiece's symbol for a space
    std::string text;
    for (const std::string& token : tokens) text += (uses_pieces_ || text.empty() ? "" : " ") + token;
    if (!uses_pieces_) return text;
    for (size_t at = 0; (at = text.find(kSpace, at)) != std::string::npos; ++at) text.replace(at, kSpace.size(), " ");
    const size_t first = text.find_first_not_of(' ');
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
  }

 private:
  sentencepiece::SentencePieceProcessor pieces_;
  bool uses_pieces_ = false;
  bool removes_invisible_ = false;
  Words tokens_;
  std::unordered_map<std::string, int32_t> ids_;
};

// Cut the tokens of a source to the longest that the model takes, and say so.
inline void Cut(Words* tokens, size_t limit) {
  if (tokens->size() <= limit) return;
  std::cerr << "warning: a source sentence of " << tokens->size() << " tokens was cut to " << limit << ", the maximum length of the model" << std::endl;
  tokens->resize(limit);
}

// Target ids -> text. With search.replace_unknown, an unknown word becomes the source word with the largest attention weight, or
// what the lexicon has for it.
class Writer {
 public:
  Writer(const Json& settings, const Text& target) : target_(target), replaces_(settings.at("search").at("replace_unknown")) {
    if (settings.contains("lexicon")) lexicon_ = settings.at("lexicon").get<std::unordered_map<std::string, std::string>>();
  }

  // `words` has `steps` ids, `weights` a row of `width` weights for each.
  std::string operator()(const int32_t* words, const float* weights, size_t steps, size_t width, const Words& source) const {
    Words tokens;
    for (size_t i = 0; i < steps && words[i] != kEnd && words[i] != kPad; ++i) {
      if (words[i] != kUnknown || !replaces_) {
        tokens.push_back(target_.Token(words[i]));
        continue;
      }
      const float* row = weights + i * width;  // never the end symbol
      const std::string& word = source[std::max_element(row, row + source.size()) - row];
      const auto known = lexicon_.find(word);
      tokens.push_back(known == lexicon_.end() || known->second.empty() ? word : known->second);
    }
    return target_.Detokenize(tokens);
  }

 private:
  const Text& target_;
  bool replaces_;
  std::unordered_map<std::string, std::string> lexicon_;
};

#endif  // TEXT_H_
