// Runs a SavedModel with no Python in the process: the loader and the session are those of TensorFlow Serving.
//
//     runner SAVED_MODEL [--signature NAME] [--output NAME] [--ops PATH]...  < text
//
// Standard input goes in line by line, 32 lines a call, as the signature's only input (string[B]); the named output (string[B]
// or float[B]) comes out, one line for one line. --ops loads a library of ops, or every library of a folder (those of
// tensorflow_text). Exit code: 0 done, 1 failed, 2 wrong usage.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tensorflow/c/c_api.h"
#include "tensorflow/cc/saved_model/loader.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/public/session.h"

namespace {

using Lines = std::vector<std::string>;

constexpr size_t kBatchSize = 32;

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Options {
  std::string saved_model;
  std::string signature = "serving_default";
  std::string output = "translation";
  Lines ops;
};

Options Parse(const Lines& words) {
  Options options;
  for (size_t i = 0; i < words.size(); ++i) {
    const auto value = [&] {
      if (i + 1 == words.size()) throw UsageError(words[i] + ": expected a value after it, got none");
      return words[++i];
    };
    if (words[i] == "--signature") options.signature = value();
    else if (words[i] == "--output") options.output = value();
    else if (words[i] == "--ops") options.ops.push_back(value());
    else if (words[i].rfind("--", 0) == 0) throw UsageError("unknown option " + words[i] + "; see the head of runner.cc");
    else if (options.saved_model.empty()) options.saved_model = words[i];
    else throw UsageError("expected one SavedModel, got also '" + words[i] + "'");
  }
  if (options.saved_model.empty()) throw UsageError("expected one SavedModel, got none");
  return options;
}

void Check(const absl::Status& status, const std::string& what) {
  if (!status.ok()) throw std::runtime_error(what + ": " + std::string(status.message()));
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

// One signature of a loaded model, from lines to lines.
class Translator {
 public:
  explicit Translator(const Options& options) {
    Check(tensorflow::LoadSavedModel({}, {}, options.saved_model, {"serve"}, &bundle_), options.saved_model);
    const auto& signatures = bundle_.meta_graph_def.signature_def();
    const auto signature = signatures.find(options.signature);
    if (signature == signatures.end()) throw UsageError("--signature: no '" + options.signature + "' in " + options.saved_model);
    const auto& inputs = signature->second.inputs();
    if (inputs.size() != 1) throw UsageError("--signature: expected one with one input, got '" + options.signature + "'");
    const auto& outputs = signature->second.outputs();
    const auto output = outputs.find(options.output);
    if (output == outputs.end()) throw UsageError("--output: no '" + options.output + "' in '" + options.signature + "'");
    input_ = inputs.begin()->second.name();
    output_ = output->second.name();
  }

  Lines operator()(const Lines& lines) {
    tensorflow::Tensor text(tensorflow::DT_STRING, {static_cast<int64_t>(lines.size())});  // [B]
    std::copy(lines.begin(), lines.end(), text.vec<tensorflow::tstring>().data());
    std::vector<tensorflow::Tensor> results;
    Check(bundle_.session->Run({{input_, text}}, {output_}, {}, &results), "the model refused " + std::to_string(lines.size()) + " lines");
    const tensorflow::Tensor& result = results[0];
    if (result.dims() != 1 || static_cast<size_t>(result.NumElements()) != lines.size()) {
      throw UsageError("--output: expected one answer for each line, got shape " + result.shape().DebugString());
    }
    Lines answers;
    for (size_t row = 0; row < lines.size(); ++row) {
      if (result.dtype() == tensorflow::DT_STRING) {
        answers.push_back(result.vec<tensorflow::tstring>()(row));
      } else if (result.dtype() == tensorflow::DT_FLOAT) {
        char number[32];
        std::snprintf(number, sizeof number, "%.9g", result.vec<float>()(row));
        answers.push_back(number);
      } else {
        throw UsageError("--output: expected strings or floats, got " + tensorflow::DataTypeString(result.dtype()));
      }
    }
    return answers;
  }

 private:
  tensorflow::SavedModelBundle bundle_;
  std::string input_, output_;
};

void Run(const Options& options) {
  for (const std::string& path : options.ops) LoadOps(path);
  Translator translate(options);
  for (Lines lines; std::cin; lines.clear()) {
    for (std::string line; lines.size() < kBatchSize && std::getline(std::cin, line);) lines.push_back(line);
    if (lines.empty()) break;
    for (const std::string& answer : translate(lines)) std::cout << answer << '\n';
    if (!std::cout.flush()) throw std::runtime_error("cannot write the output");
  }
}

}  // namespace

int main(int count, char** words) {
  std::ios::sync_with_stdio(false);
  try {
    Run(Parse(Lines(words + 1, words + count)));
    return 0;
  } catch (const UsageError& error) {
    std::cerr << "runner: error: " << error.what() << std::endl;
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "runner: error: " << error.what() << std::endl;
    return 1;
  }
}
