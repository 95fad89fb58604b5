// Shipped configs against the rooflines: what each of them finds in a second.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "physics/config_files.hpp"
#include "physics/limits.hpp"

using namespace dfsearch;
using namespace dfsearch::test;

namespace {

namespace fs = std::filesystem;

/// Folders of whole configs; the others hold parts of them, tables and studies.
std::vector<fs::path> shipped() {
  std::vector<fs::path> files;
  for (const char* folder : {"", "figures", "published", "serving", "training", "transformers"}) {
    for (const auto& entry : fs::directory_iterator(fs::path("configs") / folder)) {
      if (entry.path().extension() == ".yaml") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Published equations are kept to the last digit, flaws included (docs/model.md, section 10).
bool is_published(const Json& config) {
  const Json equations = config.value("equations", Json());
  if (equations.is_string()) return equations == "published";
  return equations.is_object() && equations.value("preset", "") == "published";
}

TEST_SUITE("slow") {
  TEST_CASE("no shipped config beats a roofline") {
    int found = 0;
    for (const fs::path& file : shipped()) {
      CAPTURE(file.string());
      const Answer answer = answer_to_file(file, Seconds(1.0));
      found += answer.found() ? 1 : 0;
      if (is_published(answer.config)) continue;
      for (const NamedCheck& check : rooflines()) {
        CAPTURE(check.name);
        const auto violation = check.check(answer.config, answer);
        if (!violation) continue;
        CAPTURE(violation->limit);
        CAPTURE(violation->got);
        CHECK_MESSAGE(false, violation->check);
      }
    }
    MESSAGE("answers to " << found);
    CHECK(found >= 120);
  }
}

}  // namespace
