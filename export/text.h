// What the runners of exports without TensorFlow share: text to ids, and back. SentencePiece splits the text, or spaces do.
// Unlike the Python runtime it neither brings text into a Unicode normal form nor removes invisible characters: give it
// composed characters (NFC), as keyboards and most files have them.

#ifndef TEXT_H_
#define TEXT_H_

#include <sentencepiece_processor.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
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

// Text of one side: text -> tokens -> ids, and back.
class Text {
 public:
  explicit Text(const Json& side) {
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
    if (side.at("lowercase").get<bool>()) throw std::runtime_error("expected a model without the option lowercase, which this program does not have");
    for (size_t id = kUnknown + 1; id < tokens_.size(); ++id) ids_[tokens_[id]] = static_cast<int32_t>(id);
  }

  Words Tokenize(const std::string& line) const {
    std::istringstream stream(line);
    Words words;
    for (std::string word; stream >> word;) words.push_back(word);
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
  Words tokens_;
  std::unordered_map<std::string, int32_t> ids_;
};

#endif  // TEXT_H_
