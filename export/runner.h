// What the runners share: lines in and lines out, options, exit codes, times. Names are those of the command line.

#ifndef RUNNER_H_
#define RUNNER_H_

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

using Lines = std::vector<std::string>;
using Clock = std::chrono::steady_clock;

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline double Milliseconds(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The whole number from 1 on that an option has.
inline int Positive(const std::string& option, const std::string& text) {
  const bool digits = !text.empty() && text.size() < 7 && text.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || std::stoi(text) == 0) throw UsageError(option + ": expected a whole number from 1 to 999999, got '" + text + "'");
  return std::stoi(text);
}

// Read the words of a command: `option` gets each option with a function that returns its value and says whether it is known;
// what is no option is the model. `expected` says what a model is.
inline void ParseWords(const Lines& words, const std::string& expected, std::string* model,
                       const std::function<bool(const std::string&, const std::function<std::string()>&)>& option) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto value = [&] {
      if (i + 1 == words.size()) throw UsageError(word + ": expected a value after it, got none");
      return words[++i];
    };
    if (word.rfind("--", 0) == 0) {
      if (!option(word, value)) throw UsageError("unknown option " + word + "; see the head of the program's source");
    } else if (model->empty()) {
      *model = word;
    } else {
      throw UsageError("expected one " + expected + ", got also '" + word + "'");
    }
  }
  if (model->empty()) throw UsageError("expected one " + expected + ", got none");
}

// Translate standard input, `batch_size` lines a call; one line comes out for each. A byte-order mark is skipped. With `times`,
// standard error says how long the start, which took `startup` milliseconds, and the calls took.
inline void TranslateLines(const std::function<Lines(const Lines&)>& translate, int batch_size, bool times, double startup) {
  std::vector<double> calls;
  size_t total = 0;
  for (Lines lines; std::cin; lines.clear()) {
    for (std::string line; static_cast<int>(lines.size()) < batch_size && std::getline(std::cin, line);) lines.push_back(line);
    if (lines.empty()) break;
    if (total == 0 && lines[0].rfind("\xef\xbb\xbf", 0) == 0) lines[0].erase(0, 3);
    const auto call = Clock::now();
    const Lines answers = translate(lines);
    calls.push_back(Milliseconds(call));
    total += lines.size();
    for (const std::string& answer : answers) std::cout << answer << '\n';
    if (!std::cout.flush()) throw std::runtime_error("cannot write the output");
  }
  if (!times) return;
  std::sort(calls.begin(), calls.end());
  std::fprintf(stderr, "startup %.1f ms; %zu lines in %zu calls", startup, total, calls.size());
  if (!calls.empty()) std::fprintf(stderr, "; a call %.3f ms (median), %.3f ms (longest)", calls[calls.size() / 2], calls.back());
  std::fprintf(stderr, "\n");
}

// Exit code of a program that does `run`: 0 done, 1 failed, 2 wrong usage.
inline int ExitCode(const std::string& program, const std::function<void()>& run) {
  std::ios::sync_with_stdio(false);
  try {
    run();
    return 0;
  } catch (const UsageError& error) {
    std::cerr << program << ": error: " << error.what() << std::endl;
    return 2;
  } catch (const std::exception& error) {
    std::cerr << program << ": error: " << error.what() << std::endl;
    return 1;
  }
}

#endif  // RUNNER_H_
