// Runs a SavedModel with no Python in the process: the loader and the session are those of TensorFlow Serving.
//
//     runner SAVED_MODEL [--signature NAME] [--output NAME] [--batch-size N] [--ops PATH]... [--times]  < text
//
// Standard input goes in line by line, N lines a call, as the signature's only input (string[B]); the named output
// (string[B] or float[B]) comes out, one line for one line. --ops loads a library of ops, or every library of a folder
// (those of tensorflow_text). --times says on standard error how long start and calls took.
// Exit code: 0 done, 1 failed, 2 wrong usage.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "runner.h"
#include "tensorflow/c/c_api.h"
#include "tensorflow/cc/saved_model/loader.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/public/session.h"

namespace {

struct Options {
  std::string saved_model;
  std::string signature = "serving_default";
  std::string output = "translation";
  int batch_size = 32;
  Lines ops;
  bool times = false;
};

void Check(const absl::Status& status, const std::string& what) {
  if (!status.ok()) throw std::runtime_error(what + ": " + std::string(status.message()));
}

Options Parse(const Lines& words) {
  Options options;
  ParseWords(words, "SavedModel", &options.saved_model, [&](const std::string& word, const auto& value) {
    if (word == "--signature") options.signature = value();
    else if (word == "--output") options.output = value();
    else if (word == "--batch-size") options.batch_size = Positive(word, value());
    else if (word == "--ops") options.ops.push_back(value());
    else if (word == "--times") options.times = true;
    else return false;
    return true;
  });
  return options;
}

void LoadLibrary(const std::string& path) {
  TF_Status* status = TF_NewStatus();
  TF_LoadLibrary(path.c_str(), status);  // the handle is kept: ops stay registered as long as the process lives
  const std::string message = TF_GetCode(status) == TF_OK ? "" : TF_Message(status);
  TF_DeleteStatus(status);
  if (!message.empty()) throw std::runtime_error("--ops " + path + ": " + message);
}

void LoadOps(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return LoadLibrary(path);
  Lines libraries;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() == ".so") libraries.push_back(entry.path().string());
  }
  std::sort(libraries.begin(), libraries.end());
  for (const std::string& library : libraries) LoadLibrary(library);
}

// Names of a map, for messages.
template <class Map>
std::string Names(const Map& map) {
  Lines names;
  for (const auto& entry : map) names.push_back(entry.first);
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// One signature of a loaded model, from lines to lines.
class Translator {
 public:
  explicit Translator(const Options& options) {
    tensorflow::SessionOptions session;
    tensorflow::RunOptions run;
    Check(tensorflow::LoadSavedModel(session, run, options.saved_model, {"serve"}, &bundle_), options.saved_model);
    const auto& signatures = bundle_.meta_graph_def.signature_def();
    const auto signature = signatures.find(options.signature);
    if (signature == signatures.end()) {
      throw UsageError("--signature: no '" + options.signature + "' in " + options.saved_model + ", only " + Names(signatures));
    }
    const auto& inputs = signature->second.inputs();
    if (inputs.size() != 1 || inputs.begin()->second.dtype() != tensorflow::DT_STRING) {
      throw UsageError("--signature: expected one with one string input, '" + options.signature + "' takes " + Names(inputs));
    }
    const auto& outputs = signature->second.outputs();
    const auto output = outputs.find(options.output);
    if (output == outputs.end()) {
      throw UsageError("--output: no '" + options.output + "' in signature '" + options.signature + "', only " + Names(outputs));
    }
    input_ = inputs.begin()->second.name();
    output_ = output->second.name();
  }

  Lines operator()(const Lines& lines) {
    tensorflow::Tensor text(tensorflow::DT_STRING, {static_cast<int64_t>(lines.size())});  // [B]
    std::copy(lines.begin(), lines.end(), text.vec<tensorflow::tstring>().data());
    std::vector<tensorflow::Tensor> results;
    Check(bundle_.session->Run({{input_, text}}, {output_}, {}, &results), "the model refused " + std::to_string(lines.size()) + " lines");
    return Rows(results[0], lines.size());
  }

 private:
  static Lines Rows(const tensorflow::Tensor& result, size_t rows) {
    if (result.dims() != 1 || static_cast<size_t>(result.NumElements()) != rows) {
      throw std::runtime_error("expected one answer for each of " + std::to_string(rows) + " lines, got shape " + result.shape().DebugString());
    }
    Lines lines(rows);
    for (size_t row = 0; row < rows; ++row) {
      if (result.dtype() == tensorflow::DT_STRING) {
        lines[row] = result.vec<tensorflow::tstring>()(row);
      } else if (result.dtype() == tensorflow::DT_FLOAT) {
        char number[32];
        std::snprintf(number, sizeof number, "%.9g", result.vec<float>()(row));
        lines[row] = number;
      } else {
        throw UsageError("--output: expected a string or float output, got " + tensorflow::DataTypeString(result.dtype()));
      }
    }
    return lines;
  }

  tensorflow::SavedModelBundle bundle_;
  std::string input_, output_;
};

void Run(const Options& options) {
  const auto start = Clock::now();
  for (const std::string& path : options.ops) LoadOps(path);
  Translator translate(options);
  TranslateLines([&](const Lines& lines) { return translate(lines); }, options.batch_size, options.times, Milliseconds(start));
}

}  // namespace

int main(int count, char** words) {
  return ExitCode("runner", [&] { Run(Parse(Lines(words + 1, words + count))); });
}
