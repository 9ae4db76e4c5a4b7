// Runs a SavedModel with no Python in the process: the loader and the session are those of TensorFlow Serving.
//
//     runner SAVED_MODEL [--signature NAME] [--output NAME] [--ops PATH]...  < text
//
// Standard input goes in line by line, 32 lines a call, as the signature's only input (string[B]); the named output (string[B]
// or float[B]) comes out, one line for one line. --ops loads a library of ops, or every library of a folder (those of
// tensorflow_text). Exit code: 0 done, 1 failed.

#include <algorithm>
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

struct Options {
  std::string saved_model;
  std::string signature = "serving_default";
  std::string output = "translation";
  Lines ops;
};

Options Parse(const Lines& words) {
  if (words.size() % 2 == 0) throw std::runtime_error("expected a SavedModel and options, see the head of runner.cc");
  Options options{words[0]};
  for (size_t i = 1; i < words.size(); i += 2) {
    if (words[i] == "--signature") options.signature = words[i + 1];
    else if (words[i] == "--output") options.output = words[i + 1];
    else if (words[i] == "--ops") options.ops.push_back(words[i + 1]);
    else throw std::runtime_error("unknown option " + words[i] + "; see the head of runner.cc");
  }
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
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() == ".so") LoadLibrary(entry.path());
  }
}

// One signature of a loaded model, from lines to lines.
class Translator {
 public:
  explicit Translator(const Options& options) {
    Check(tensorflow::LoadSavedModel({}, {}, options.saved_model, {"serve"}, &bundle_), options.saved_model);
    const auto& signatures = bundle_.meta_graph_def.signature_def();
    const auto signature = signatures.find(options.signature);
    if (signature == signatures.end()) throw std::runtime_error("--signature: none is named " + options.signature);
    const auto& outputs = signature->second.outputs();
    const auto output = outputs.find(options.output);
    if (output == outputs.end()) throw std::runtime_error("--output: none is named " + options.output);
    input_ = signature->second.inputs().begin()->second.name();
    output_ = output->second.name();
  }

  Lines operator()(const Lines& lines) {
    tensorflow::Tensor text(tensorflow::DT_STRING, {static_cast<int64_t>(lines.size())});  // [B]
    std::copy(lines.begin(), lines.end(), text.vec<tensorflow::tstring>().data());
    std::vector<tensorflow::Tensor> results;
    Check(bundle_.session->Run({{input_, text}}, {output_}, {}, &results), "the model");
    Lines answers;
    for (size_t row = 0; row < lines.size(); ++row) {
      const bool is_text = results[0].dtype() == tensorflow::DT_STRING;
      answers.push_back(is_text ? std::string(results[0].vec<tensorflow::tstring>()(row)) : std::to_string(results[0].vec<float>()(row)));
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
  } catch (const std::exception& error) {
    std::cerr << "runner: error: " << error.what() << std::endl;
    return 1;
  }
}
