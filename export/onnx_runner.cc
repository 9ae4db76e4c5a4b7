// Translates with an ONNX export: no Python and no TensorFlow in the process.
//
//     onnx_runner MODEL.onnx [--batch-size N] [--threads N] [--times]  < text > translations
//
// Standard input goes in line by line, N lines a search; one line comes out for each. --threads: of a product (1).
// --times says on standard error how long start and searches took. Text settings are in the file; SentencePiece splits the
// text, or spaces do. Unlike the Python runtime it neither brings text into a Unicode normal form nor removes invisible
// characters: give it composed characters (NFC), as keyboards and most files have them. Exit code: 0 done, 1 failed, 2 wrong usage.

#include <onnxruntime_cxx_api.h>
#include <sentencepiece_processor.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "runner.h"

namespace {

using Json = nlohmann::json;
using Words = Lines;
using Ids = std::vector<int32_t>;

constexpr int32_t kPad = 0, kEnd = 1, kUnknown = 2;
constexpr int kFormat = 1;  // of the settings

struct Options {
  std::string model;
  int batch_size = 32;
  int threads = 1;
  bool times = false;
};

Options Parse(const Lines& words) {
  Options options;
  ParseWords(words, "model file (.onnx)", &options.model, [&](const std::string& word, const auto& value) {
    if (word == "--batch-size") options.batch_size = Positive(word, value());
    else if (word == "--threads") options.threads = Positive(word, value());
    else if (word == "--times") options.times = true;
    else return false;
    return true;
  });
  return options;
}

std::string FromBase64(const std::string& text) {
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

class Translator {
 public:
  explicit Translator(const Options& options)
      : session_(Environment(), options.model.c_str(), Settings(options)), about_(About(session_)), source_(about_.at("source")), target_(about_.at("target")) {}

  // One translation for each line; a line without words has an empty one.
  Words operator()(const Words& lines) {
    std::vector<Words> sources;
    std::vector<size_t> places;
    size_t longest = 0;
    for (size_t place = 0; place < lines.size(); ++place) {
      Words tokens = source_.Tokenize(lines[place]);
      if (tokens.empty()) continue;
      tokens.resize(std::min<size_t>(tokens.size(), about_.at("maximum_source_length")));
      longest = std::max(longest, tokens.size() + 1);
      sources.push_back(std::move(tokens));
      places.push_back(place);
    }
    Words translations(lines.size());
    if (sources.empty()) return translations;
    Ids ids(sources.size() * longest, kPad);  // [B, J]
    for (size_t row = 0; row < sources.size(); ++row) {
      const Ids encoded = source_.Encode(sources[row]);
      std::copy(encoded.begin(), encoded.end(), ids.begin() + row * longest);
    }
    const std::vector<int64_t> shape = {static_cast<int64_t>(sources.size()), static_cast<int64_t>(longest)};
    const auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
    const Ort::Value input = Ort::Value::CreateTensor<int32_t>(memory, ids.data(), ids.size(), shape.data(), shape.size());
    const char* inputs[] = {"source_ids"};
    const char* outputs[] = {"ids", "alignments"};
    const auto found = session_.Run(Ort::RunOptions(nullptr), inputs, &input, 1, outputs, 2);
    const auto sizes = found[1].GetTensorTypeAndShapeInfo().GetShape();  // [B, N, I, J]
    for (size_t row = 0; row < sources.size(); ++row) {
      const size_t start = row * sizes[1] * sizes[2];  // of its best hypothesis
      const int32_t* words = found[0].GetTensorData<int32_t>() + start;
      const float* weights = found[1].GetTensorData<float>() + start * sizes[3];
      translations[places[row]] = TextOf(words, weights, sizes[2], sizes[3], sources[row]);
    }
    return translations;
  }

 private:
  static Ort::Env& Environment() {
    static Ort::Env environment(ORT_LOGGING_LEVEL_FATAL, "onnx_runner");  // errors come as exceptions
    return environment;
  }

  static Ort::SessionOptions Settings(const Options& options) {
    Ort::SessionOptions settings;
    settings.SetIntraOpNumThreads(options.threads);
    settings.SetGraphOptimizationLevel(ORT_ENABLE_BASIC);
    return settings;
  }

  static Json About(const Ort::Session& session) {
    Ort::AllocatorWithDefaultOptions allocator;
    const auto text = session.GetModelMetadata().LookupCustomMetadataMapAllocated("rnnsearch", allocator);
    if (!text) throw std::runtime_error("expected a file of `rnnsearch export --format onnx`, got one of another program");
    Json about = Json::parse(text.get());
    if (about.at("format") > kFormat) throw std::runtime_error("expected settings of format 1, got a newer one; use a newer runner");
    return about;
  }

  std::string TextOf(const int32_t* words, const float* weights, size_t steps, size_t width, const Words& source) const {
    Words tokens;
    for (size_t i = 0; i < steps && words[i] != kEnd && words[i] != kPad; ++i) {
      if (words[i] != kUnknown || !about_.at("search").at("replace_unknown").get<bool>()) {
        tokens.push_back(target_.Token(words[i]));
        continue;
      }
      const float* row = weights + i * width;  // the source word with the largest weight, never the end symbol
      const std::string& word = source[std::max_element(row, row + source.size()) - row];
      const std::string known = about_.value("lexicon", Json::object()).value(word, "");
      tokens.push_back(known.empty() ? word : known);
    }
    return target_.Detokenize(tokens);
  }

  Ort::Session session_;
  Json about_;
  Text source_, target_;
};

void Run(const Options& options) {
  const auto start = Clock::now();
  try {
    Translator translate(options);
    TranslateLines([&](const Lines& lines) { return translate(lines); }, options.batch_size, options.times, Milliseconds(start));
  } catch (const std::exception& error) {
    throw std::runtime_error(options.model + ": " + error.what());
  }
}

}  // namespace

int main(int count, char** words) {
  return ExitCode("onnx_runner", [&] { Run(Parse(Lines(words + 1, words + count))); });
}
