// Inputs that are wrong as a whole: files that cannot be read, hostile and damaged texts.
// Whatever the input, the loader either returns or throws InputError.

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "io/config/config_messages.hpp"

namespace dfsearch {
namespace {

using test::joined;
using test::kGood;
using test::kGoodGraph;
using test::message_of;
using test::messages_of;
using test::TemporaryDirectory;

TEST_CASE("a hundred messages are enough") {
  std::string text = kGood;
  for (int i = 0; i < 500; ++i) text += "unknown_" + std::to_string(i) + ": 1\n";
  const TemporaryDirectory directory;
  directory.write("c.yaml", text);
  const std::vector<std::string> messages = messages_of(directory, "c.yaml");
  REQUIRE(messages.size() == 101);
  CHECK(messages.back() == "... and 400 more");
}

TEST_CASE("messages hold no control characters") {
  const std::string text =
      message_of(std::string(kGood) + "\"un\\e[31m\\nknown\": \"\\0\\a\"\nsearch: \"\\0\\a\"\n");
  for (const char c : text) CHECK((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
}

TEST_CASE("files that cannot be read") {
  const TemporaryDirectory directory;
  CHECK(joined(messages_of(directory, "none.yaml")) ==
        "none.yaml: cannot read: No such file or directory");
  std::filesystem::create_directory(directory.path() / "folder");
  CHECK(joined(messages_of(directory, "folder")) == "folder: is a directory, expected a file");
  directory.write("secret.yaml", kGood);
  ::chmod((directory.path() / "secret.yaml").c_str(), 0);
  if (::geteuid() != 0) {  // root reads everything
    CHECK(joined(messages_of(directory, "secret.yaml")) ==
          "secret.yaml: cannot read: Permission denied");
  }
  CHECK(joined(messages_of(directory, "secret.yaml/below")) ==
        "secret.yaml/below: cannot read: Not a directory");
  CHECK(joined(messages_of(directory, std::string(5000, 'x'))).ends_with("File name too long"));
  directory.write("large.yaml", std::string((std::size_t{16} << 20) + 1, '#'));
  CHECK(joined(messages_of(directory, "large.yaml")) == "large.yaml: is larger than 16 MiB");
}

/// Nothing but a return or an InputError may come of it.
void survives(const std::string& text) {
  const TemporaryDirectory directory;
  directory.write("c.yaml", text);
  CHECK_NOTHROW(messages_of(directory, "c.yaml"));
}

std::string repeated(const std::string& piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}

TEST_CASE("deep nesting ends in a message, whichever way it is written") {
  CHECK(message_of(repeated("[", 1'000'000)) ==
        "c.yaml:1:10001: nested too deeply, expected at most 100 levels");
  for (const char* const piece : {"{", "{a: ", "[{a: ", "- ", "? ", "[\n", "a: {", "- a:\n "}) {
    CAPTURE(piece);
    const std::string message = message_of(repeated(piece, 50'000));
    CHECK(message.size() < 400);
    CHECK(message.starts_with("c.yaml:"));
  }
  std::string indented;
  for (int i = 0; i < 2000; ++i) indented += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  CHECK(message_of(indented) == "c.yaml:101:101: nested too deeply, expected at most 100 levels");
}

TEST_CASE("cut and damaged configs never do worse than an InputError") {
  for (const std::string good : {kGood, kGoodGraph}) {
    for (std::size_t length = 0; length < good.size(); length += 3) {
      survives(good.substr(0, length));
    }
    std::mt19937 random(7);
    const std::string alphabet = "{}[]:,-?&*!|>'\"%@`#~ \n\t0129.eE+abkMN\\\x01\x80";
    for (int i = 0; i < 300; ++i) {
      std::string damaged = good;
      for (int k = 0; k < 3; ++k) {
        damaged[random() % damaged.size()] = alphabet[random() % alphabet.size()];
      }
      survives(damaged);
    }
  }
}

}  // namespace
}  // namespace dfsearch
