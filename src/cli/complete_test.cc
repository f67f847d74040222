#include "cli/complete.h"

#include <doctest/doctest.h>

#include "base/text.h"

namespace moulin::cli {

namespace {

// "a b c" of the candidates for the last of the words.
std::string candidates(std::vector<std::string_view> words) {
  Completion found = complete(verbs(), std::span(words).first(words.size() - 1), words.back());
  std::string text;
  for (const Candidate& candidate : found.candidates) text += (text.empty() ? "" : " ") + candidate.text;
  return text;
}

ValueSource source(std::vector<std::string_view> words) {
  return complete(verbs(), std::span(words).first(words.size() - 1), words.back()).source;
}

}  // namespace

TEST_CASE("verbs, and the second words of topics") {
  CHECK(candidates({"pro"}) == "project");
  CHECK(candidates({"pa"}) == "pause");
  CHECK(candidates({"help", "w"}) == "why whoami");
  CHECK(candidates({"project", ""}) == "list show create quota delete");
  CHECK(candidates({"project", "qu"}) == "quota");
  CHECK(candidates({"nonsense", "x"}).empty());
}

TEST_CASE("options that are not there yet, and those that may be repeated") {
  CHECK(candidates({"run", "--gpu"}) == "--gpu --gpu-model");
  CHECK(candidates({"run", "--gpu", "1", "--gpu"}) == "--gpu-model");
  CHECK(candidates({"run", "-g", "1", "--gpu"}) == "--gpu-model");
  CHECK(candidates({"run", "--gpu-model", "T4", "--gpu-"}) == "--gpu-model");
  CHECK(candidates({"ps", "--js"}) == "--json");
}

TEST_CASE("values by the word that stands for them") {
  CHECK(candidates({"run", "--class", "t"}) == "training");
  CHECK(candidates({"run", "-c", ""}) == "production training development batch");
  CHECK(source({"run", "--class", ""}) == ValueSource::kListed);
  CHECK(source({"run", "--name", ""}) == ValueSource::kFree);
  CHECK(source({"apply", "-f", ""}) == ValueSource::kFile);
  CHECK(source({"run", "--folder", ""}) == ValueSource::kFolder);
  CHECK(source({"run", "-p", "n"}) == ValueSource::kProject);
  CHECK(source({"run", "--gpu", "1", "--", "py"}) == ValueSource::kCommand);
  CHECK(candidates({"completion", "z"}) == "zsh");
}

TEST_CASE("words of a verb by their place") {
  CHECK(source({"show", ""}) == ValueSource::kWorkload);
  CHECK(source({"show", "digits", ""}) == ValueSource::kFree);
  CHECK(source({"logs", "-f", "--tail", "3", "d"}) == ValueSource::kWorkload);
  CHECK(source({"quota", ""}) == ValueSource::kPlace);
  CHECK(source({"role", "grant", ""}) == ValueSource::kUser);
  CHECK(candidates({"role", "grant", "ada", "m"}) == "member");
  CHECK(candidates({"role", "grant", "ada", "member", ""}) == "at");
  CHECK(source({"role", "grant", "ada", "member", "at", ""}) == ValueSource::kPlace);
  CHECK(candidates({"run", ""}) == "--");
}

}  // namespace moulin::cli
