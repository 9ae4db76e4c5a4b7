// Translates with an export for LiteRT: no Python and no TensorFlow in the process.
//
//     litert_runner DIR/N [--threads N] [--times]  < text > translations
//
// DIR/N is what `rnnsearch export --format litert` wrote. Standard input goes in line by line; one line comes out for each.
// --threads: of a product (1). --times says on standard error how long start and searches took. Text settings are in
// model.json; text.h handles the text. Exit code: 0 done, 1 failed, 2 wrong usage.
//
// The C interface is that of TensorFlow Lite, which LiteRT's own sources build, too. LiteRT's newer CompiledModel does not
// serve here: it wants to know how long an output is before the search has run.

#include <tensorflow/lite/c/c_api.h>
#include <tensorflow/lite/c/c_api_experimental.h>  // signatures, in older versions

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "runner.h"
#include "text.h"

namespace {

struct Options {
  std::string folder;
  int threads = 1;
  bool times = false;
};

Options Parse(const Lines& words) {
  Options options;
  ParseWords(words, "folder DIR/N of an export", &options.folder, [&](const std::string& word, const auto& value) {
    if (word == "--threads") options.threads = Positive(word, value());
    else if (word == "--times") options.times = true;
    else return false;
    return true;
  });
  return options;
}

Json Settings(const std::string& folder) {
  std::ifstream file(folder + "/model.json");
  if (!file) throw std::runtime_error("expected model.json, as `rnnsearch export --format litert` writes it, got none");
  Json settings = Json::parse(file);
  CheckFormat(settings);
  return settings;
}

// An object of the C interface, deleted with its owner.
template <typename T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

template <typename T>
Owned<T> Own(T* object, void (*destroy)(T*), const std::string& expected) {
  if (!object) throw std::runtime_error("expected " + expected + ", got a file that this TensorFlow Lite cannot read");
  return {object, destroy};
}

void Check(TfLiteStatus status, const std::string& action) {
  if (status != kTfLiteOk) throw std::runtime_error("TensorFlow Lite failed to " + action);
}

class Search {
 public:
  Search(const std::string& file, int threads)
      : model_(Own(TfLiteModelCreateFromFile(file.c_str()), TfLiteModelDelete, "a .tflite file")),
        interpreter_(Interpreter(model_.get(), threads)),
        runner_(Own(TfLiteInterpreterGetSignatureRunner(interpreter_.get(), "serving_default"), TfLiteSignatureRunnerDelete,
                    "a file of `rnnsearch export --format litert`")) {}

  // The best hypothesis; its pointers hold until the next search.
  struct Best {
    const int32_t* ids;    // [I]
    const float* weights;  // [I, J]
    size_t steps, width;   // I, J
  };

  // The graph has source ids [1, J] in; ids [1, N, I], scores [1, N] and alignments [1, N, I, J] out.
  Best operator()(const Ids& source) {
    const int shape[] = {1, static_cast<int>(source.size())};
    Check(TfLiteSignatureRunnerResizeInputTensor(runner_.get(), kInput, shape, 2), "set the length of the source");
    Check(TfLiteSignatureRunnerAllocateTensors(runner_.get()), "allocate its tensors");
    TfLiteTensor* input = TfLiteSignatureRunnerGetInputTensor(runner_.get(), kInput);
    Check(TfLiteTensorCopyFromBuffer(input, source.data(), source.size() * sizeof(source[0])), "take the source");
    Check(TfLiteSignatureRunnerInvoke(runner_.get()), "search");
    const TfLiteTensor* output = Output("ids", kTfLiteInt32, 3);
    CheckScore(*static_cast<const float*>(TfLiteTensorData(Output("scores", kTfLiteFloat32, 2))));
    const TfLiteTensor* alignments = Output("alignments", kTfLiteFloat32, 4);
    const auto size = [&](int axis) { return static_cast<size_t>(TfLiteTensorDim(alignments, axis)); };
    if (TfLiteTensorDim(output, 2) != TfLiteTensorDim(alignments, 2) || size(3) < source.size()) throw OtherOutputs();
    return {static_cast<const int32_t*>(TfLiteTensorData(output)), static_cast<const float*>(TfLiteTensorData(alignments)), size(2), size(3)};
  }

 private:
  static constexpr const char* kInput = "source_ids";

  // An output of this type and number of axes, with at least one hypothesis.
  const TfLiteTensor* Output(const std::string& name, TfLiteType type, int axes) const {
    const TfLiteTensor* output = TfLiteSignatureRunnerGetOutputTensor(runner_.get(), name.c_str());
    if (!output || TfLiteTensorType(output) != type || TfLiteTensorNumDims(output) != axes || TfLiteTensorDim(output, 0) < 1 || TfLiteTensorDim(output, 1) < 1) {
      throw OtherOutputs();
    }
    return output;
  }

  static std::runtime_error OtherOutputs() {
    return std::runtime_error("expected int32 ids [1, N, I], float alignments [1, N, I, J] and scores [1, N], got other outputs; export the model again");
  }

  static Owned<TfLiteInterpreter> Interpreter(const TfLiteModel* model, int threads) {
    const auto options = Own(TfLiteInterpreterOptionsCreate(), TfLiteInterpreterOptionsDelete, "options");
    TfLiteInterpreterOptionsSetNumThreads(options.get(), threads);
    return Own(TfLiteInterpreterCreate(model, options.get()), TfLiteInterpreterDelete, "built-in operations of known versions");
  }

  Owned<TfLiteModel> model_;
  Owned<TfLiteInterpreter> interpreter_;
  Owned<TfLiteSignatureRunner> runner_;
};

class Translator {
 public:
  explicit Translator(const Options& options)
      : settings_(Settings(options.folder)), source_(settings_.at("source"), true), target_(settings_.at("target"), false),
        written_(settings_, target_), search_(options.folder + "/model.tflite", options.threads) {}

  // A line without words has an empty translation.
  std::string operator()(const std::string& line) {
    Words tokens = source_.Tokenize(line);
    if (tokens.empty()) return "";
    Cut(&tokens, settings_.at("maximum_source_length"));
    const Search::Best best = search_(source_.Encode(tokens));
    return written_(best.ids, best.weights, best.steps, best.width, tokens);
  }

 private:
  Json settings_;
  Text source_, target_;
  Writer written_;
  Search search_;
};

void Run(const Options& options) {
  const auto start = Clock::now();
  try {
    Translator translate(options);
    TranslateLines([&](const Lines& lines) { return Lines{translate(lines[0])}; }, 1, options.times, Milliseconds(start));
  } catch (const std::exception& error) {
    throw std::runtime_error(options.folder + ": " + error.what());
  }
}

}  // namespace

int main(int count, char** words) {
  return ExitCode("litert_runner", [&] { Run(Parse(Lines(words + 1, words + count))); });
}
