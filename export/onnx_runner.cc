// Translates with an ONNX export: no Python and no TensorFlow in the process.
//
//     onnx_runner MODEL.onnx [--batch-size N] [--threads N] [--times]  < text > translations
//
// Standard input goes in line by line, N lines a search; one line comes out for each. --threads: of a product (1).
// --times says on standard error how long start and searches took. Text settings are in the file; text.h handles the text.
// Exit code: 0 done, 1 failed, 2 wrong usage.

#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runner.h"
#include "text.h"

namespace {

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

using Sizes = std::vector<int64_t>;

// The sizes of a tensor; none if its elements have another type.
Sizes Shape(const Ort::Value& value, ONNXTensorElementDataType type) {
  const auto info = value.GetTensorTypeAndShapeInfo();
  return info.GetElementType() == type ? info.GetShape() : Sizes{-1};
}

class Translator {
 public:
  explicit Translator(const Options& options)
      : session_(Environment(), options.model.c_str(), Settings(options)), about_(About(session_)), source_(about_.at("source"), true), target_(about_.at("target"), false), written_(about_, target_) {}

  // One translation for each line; a line without words has an empty one.
  Words operator()(const Words& lines) {
    std::vector<Words> sources;
    std::vector<size_t> places;
    size_t longest = 0;
    for (size_t place = 0; place < lines.size(); ++place) {
      Words tokens = source_.Tokenize(lines[place]);
      if (tokens.empty()) continue;
      Cut(&tokens, about_.at("maximum_source_length"));
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
    const Sizes shape = {static_cast<int64_t>(sources.size()), static_cast<int64_t>(longest)};
    const auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
    const Ort::Value input = Ort::Value::CreateTensor<int32_t>(memory, ids.data(), ids.size(), shape.data(), shape.size());
    const char* inputs[] = {"source_ids"};
    const char* outputs[] = {"ids", "alignments", "scores"};
    const auto found = session_.Run(Ort::RunOptions(nullptr), inputs, &input, 1, outputs, 3);
    const auto sizes = Shape(found[1], ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);  // [B, N, I, J]
    if (sizes.size() != 4 || sizes[0] != shape[0] || sizes[1] < 1 || sizes[3] < shape[1] ||
        Shape(found[0], ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32) != Sizes(sizes.begin(), sizes.begin() + 3) ||
        Shape(found[2], ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) != Sizes(sizes.begin(), sizes.begin() + 2)) {
      throw std::runtime_error("expected int32 ids [B, N, I], float alignments [B, N, I, J] and scores [B, N], got other outputs; export the model again");
    }
    for (size_t row = 0; row < sources.size(); ++row) {
      CheckScore(found[2].GetTensorData<float>()[row * sizes[1]]);
      const size_t start = row * sizes[1] * sizes[2];  // of its best hypothesis
      const int32_t* words = found[0].GetTensorData<int32_t>() + start;
      const float* weights = found[1].GetTensorData<float>() + start * sizes[3];
      translations[places[row]] = written_(words, weights, sizes[2], sizes[3], sources[row]);
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
    CheckFormat(about);
    return about;
  }

  Ort::Session session_;
  Json about_;
  Text source_, target_;
  Writer written_;
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
