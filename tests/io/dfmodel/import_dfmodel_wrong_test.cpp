// Setups that are cut or damaged end in messages.  Setups with one thing wrong are in
// tests/cli/transcripts/setups.txt.

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "io/dfmodel/dfmodel_setups.hpp"

namespace dfsearch {
namespace {

using test::replaced;
using test::setup;

std::vector<std::string> messages_of(const std::string& text) {
  try {
    import_dfmodel(text, "setup.txt");
  } catch (const InputError& error) {
    return error.messages();
  }
  return {"accepted"};
}

}  // namespace

TEST_CASE("a truncated setup is refused at its end") {
  const std::string text = setup("r_execution");
  for (const char* until : {"Down", "num_chip", "link_bw_x", "gurobi {"}) {
    const std::string cut = text.substr(0, text.find(until) + 3);
    const std::vector<std::string> messages = messages_of(cut);
    INFO(until, ": ", messages.front());
    const auto lines = std::count(cut.begin(), cut.end(), '\n') + 1;
    CHECK(messages.front().starts_with("setup.txt:" + std::to_string(lines) + ":"));
  }
}

TEST_CASE("all that is wrong is reported at once, in the order of the text") {
  std::string text = setup("r_execution");
  text = replaced(text, "outer: 1", "outer: 1 sram_extra: 5");
  text = replaced(text, "link_bw_x: 50.0", "");
  text = replaced(text, "word: 2", "");
  // Only the first: without the word no size can be checked.
  const std::vector<std::string> messages = messages_of(text);
  std::string all;
  for (const std::string& message : messages) all += message + "\n";
  INFO(all);
  CHECK(messages[0].find("sram_extra") != std::string::npos);
  CHECK(all.find("link_bw_x: missing") != std::string::npos);
  CHECK(all.find("word: missing") != std::string::npos);
}

TEST_CASE("no damage to a setup does more than give a message") {
  constexpr unsigned kSeed = 1;
  std::mt19937 random(kSeed);
  const auto draw = [&](std::size_t count) { return random() % count; };
  for (const char* name :
       {"r_execution", "training_with_update", "dlrm_training", "hpl", "fft", "sharded"}) {
    const std::string text = setup(name);
    for (int round = 0; round < 150; ++round) {
      std::string damaged = text;
      for (std::size_t i = 0; i <= draw(3); ++i) {
        const std::size_t at = draw(damaged.size());
        const std::size_t kind = draw(3);
        if (kind == 0) damaged.erase(at, 1 + draw(40));
        if (kind == 1) damaged[at] = static_cast<char>(draw(256));
        if (kind == 2) damaged.insert(at, text.substr(draw(text.size()), draw(30)));
      }
      INFO("seed ", kSeed, ", ", name, ", round ", round);
      for (const std::string& message : messages_of(damaged)) {
        CHECK((message == "accepted" || message.starts_with("setup.txt:") ||
               message.starts_with("... and")));
      }
    }
  }
}

}  // namespace dfsearch
