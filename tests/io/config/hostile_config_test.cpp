// Inputs that are wrong as a whole: files that cannot be read, `from:` and
// `--set` that lead nowhere, hostile and damaged texts.  Whatever the input, the
// loader either returns or throws InputError.

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

TEST_CASE("from: files that are missing, wrong or circular") {
  const TemporaryDirectory directory;
  const std::string rest = std::string(kGood).substr(std::string(kGood).find("system:"));
  const auto load = [&](const std::string& workload) {
    directory.write("c.yaml", "workload: " + workload + "\n" + rest);
    return joined(messages_of(directory, "c.yaml"));
  };
  std::filesystem::create_directory(directory.path() / "folder");
  directory.write("a.yaml", "from: b.yaml\n");
  directory.write("b.yaml", "from: a.yaml\n");
  directory.write("list.yaml", "- 1\n");
  directory.write("empty.yaml", "");
  directory.write("broken.yaml", "a: [1\n");
  directory.write("typo.yaml",
                  "kind: llm_training\nhiden: 64\nhidden: 64\nheads: 4\nhead_dim: 16\n"
                  "sequence: 32\nlayers: 2\nglobal_batch: 8\n");
  CHECK(load("{from: none.yaml}") ==
        "c.yaml:1:18: from: none.yaml: cannot read: No such file or directory");
  CHECK(load("{from: ./folder}") == "c.yaml:1:18: from: folder: is a directory, expected a file");
  CHECK(load("{from: a.yaml}") == "b.yaml:1:7: from: the file 'a.yaml' leads back to itself");
  CHECK(load("{from: c.yaml}") == "c.yaml:1:18: from: the file 'c.yaml' leads back to itself");
  CHECK(load("{from: list.yaml}") ==
        "list.yaml:1:1: from: expected the file 'list.yaml' to hold a map, got a list");
  CHECK(load("{from: empty.yaml}") ==
        "c.yaml:1:18: from: expected the file 'empty.yaml' to hold a map, got nothing");
  CHECK(load("{from: broken.yaml}") == "broken.yaml:2:1: YAML: end of sequence flow not found");
  CHECK(load("{from: typo.yaml}") ==
        "typo.yaml:2:1: workload: unknown key 'hiden', did you mean 'hidden'?");
  CHECK(load("{from: [a.yaml]}") == "c.yaml:1:18: from: expected a word, got a list");
  CHECK(load("{from: \"\"}") == "c.yaml:1:18: from: expected a word, got ''");
  CHECK(load("typo.yaml") == "c.yaml:1:11: workload: expected a map, got 'typo.yaml'");
}

TEST_CASE("overrides name themselves as the place") {
  CHECK(message_of(kGood, {"system.chips=0"}) ==
        "--set system.chips=0: chips: expected a whole number from 1 to 2^40, got '0'");
  CHECK(message_of(kGood, {"system.network.5.degree=2"}) ==
        "--set system.network.5.degree=2: network: expected an index from 0 to 1, got '5'");
  CHECK(message_of(kGood, {"system.network.x.degree=2"}) ==
        "--set system.network.x.degree=2: network: expected an index from 0 to 1, got 'x'");
  CHECK(message_of(kGood, {"system.network.-1.degree=2"}) ==
        "--set system.network.-1.degree=2: network: expected an index from 0 to 1, got '-1'");
  // A star stands for all items of a list, and a list has some.
  CHECK(message_of(kGood, {"system.network.*.degree=0"}) ==
        "--set system.network.*.degree=0: degree: expected a whole number from 1 to 2^40, got "
        "'0'\n"
        "--set system.network.*.degree=0: degree: expected a whole number from 1 to 2^40, got '0'");
  CHECK(message_of(kGood, {"system.chips=1", "system.network=[]", "system.network.*.degree=2"}) ==
        "--set system.network.*.degree=2: network: the list is empty, there is no item '*'");
  CHECK(message_of(kGood, {"system.chps=8"}) ==
        "--set system.chps=8: system: unknown key 'chps', did you mean 'chips'?");
  CHECK(message_of(kGood, {"system.memry.bandwidth=1 GB/s"}) ==
        "--set system.memry.bandwidth=1 GB/s: system: unknown key 'memry', did you mean 'memory'?");
  CHECK(message_of(kGood, {"memory.bandwidth=1 GB/s"}) ==
        "--set memory.bandwidth=1 GB/s: unknown key 'memory', expected workload, system, "
        "execution, price, power, energy, equations, search, sharding, parallelism or training");
  CHECK(message_of(kGood, {"system.chips"}) == "--set system.chips: expected KEY=VALUE");
  CHECK(message_of(kGood, {"system..chips=1"}) ==
        "--set system..chips=1: expected a key like system.network.0.degree");
  CHECK(message_of(kGood, {"=1"}) == "--set =1: expected a key like system.network.0.degree");
  CHECK(message_of(kGood, {"system.chips="}) ==
        "--set system.chips=: expected a value after '=' (null takes the key away)");
  CHECK(message_of(kGood, {"system.chips={"}) ==
        "--set system.chips={: YAML: end of map flow not found");
  CHECK(message_of(kGood, {"system.chips.low=8"}) ==
        "--set system.chips.low=8: chips: is '8', which has no key 'low'");
  CHECK(message_of(kGood, {"system.memory.capacity=null"}) ==
        "--set system.memory.capacity=null: memory: there is no key 'capacity'");
  CHECK(message_of(kGood, {"system.memory.bandwidth=900"}) ==
        "--set system.memory.bandwidth=900: bandwidth: expected a quantity like '900 GB/s', got "
        "'900'");
  CHECK(message_of(kGood, {"system.network.0.degree=8"}) ==
        "--set system.network.0.degree=8: network: the product of the degrees is 8 * 2 = 16, "
        "expected the number of chips, 8");
  CHECK(message_of(kGood, {"workload.hidden=65"}) ==
        "--set workload.hidden=65: hidden: expected heads * head_dim = 4 * 16 = 64, got 65");
  CHECK(message_of(kGood, {"workload.heads=5"}) ==
        "--set workload.heads=5: hidden: expected heads * head_dim = 5 * 16 = 80, got 64");
  CHECK(message_of(kGood, {"workload.tile=64"}) ==
        "--set workload.tile=64: tile: expected at most the sequence, 32, got 64");
  CHECK(message_of(kGood, {"workload.micro_batch=3"}) ==
        "--set workload.micro_batch=3: global_batch: expected a multiple of data degree * "
        "micro_batch = 2 * 3, got 8");
  CHECK(message_of(kGood, {"equations=publishd"}) ==
        "--set equations=publishd: equations: expected physical, published or calculon, got "
        "'publishd', did "
        "you mean 'published'?");
  CHECK(message_of(kGood, {"equations.all_reduce_passes=7"}) ==
        "--set equations.all_reduce_passes=7: all_reduce_passes: expected a whole number from 1 to "
        "2, got '7'");
  CHECK(message_of(kGood, {"workload.global_batch=9"}) ==
        "--set workload.global_batch=9: global_batch: expected a multiple of the data degree, 2, "
        "got 9");
  CHECK(message_of(kGood, {"execution.pins.Q=9"}) ==
        "--set execution.pins.Q=9: Q: expected a partition from 0 to 3, got 9");
  CHECK(message_of(kGood, {"sharding.pins.PROJ_GEMM=N"}) ==
        "--set sharding.pins.PROJ_GEMM=N: PROJ_GEMM: cannot be sharded on N, expected K or M");
  CHECK(message_of(kGood, {"sharding.pins.PROJ_GEMM=K/M"}) ==
        "--set sharding.pins.PROJ_GEMM=K/M: PROJ_GEMM: expected outer, M, K, N or none, got 'K/M', "
        "did you "
        "mean 'M'?");
  CHECK(message_of(kGood, {"sharding.axes=2", "sharding.pins.PROJ_GEMM=K/N"}) ==
        "--set sharding.pins.PROJ_GEMM=K/N: PROJ_GEMM: cannot be sharded on K/N, expected K, M, "
        "none/K, K/K, M/K, none/M, K/M or M/M");
  CHECK(
      message_of(kGood, {"sharding.axes=2", "search.sharding=least_bytes"}) ==
      "--set sharding.axes=2: axes: expected 1 with search.sharding: least_bytes, which is chosen "
      "before the degrees");
  CHECK(message_of(kGood, {"workload.word={a: 1, a: 2}"}) ==
        "--set workload.word={a: 1, a: 2}: duplicate key 'a'");
  CHECK(message_of(kGood, {"workload=5"}) == "--set workload=5: workload: expected a map, got '5'");
  CHECK(message_of(kGood, {"system.network=null"}) ==
        "c.yaml:9:1: network: 8 chips need a network");
  CHECK(message_of(kGood, {"workload.from=none.yaml"}) ==
        "--set workload.from=none.yaml: from: none.yaml: cannot read: No such file or directory");
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

TEST_CASE("a word is a whole number of bits") {
  CHECK(message_of(kGood, {"workload.word=0.7 B"}) ==
        "--set workload.word=0.7 B: word: expected a whole number of bits, got '0.7 B'");
  CHECK(message_of(kGood, {"workload.word=0.5 B"}) == "accepted");
}

TEST_CASE("degrees that cannot be are refused") {
  CHECK(message_of(kGood, {"parallelism.data=x"}) ==
        "--set parallelism.data=x: data: expected a whole number from 1 to 2^40, got 'x'");
  CHECK(message_of(kGood, {"parallelism.data=8..2"}) ==
        "--set parallelism.data=8..2: data: expected a range like '2..8', got '8..2'");
  CHECK(message_of(kGood, {"parallelism.data=[]"}) ==
        "--set parallelism.data=[]: data: expected at least one degree, got none");
  CHECK(message_of(kGood, {"parallelism.expert=2"}) ==
        "--set parallelism.expert=2: parallelism: unknown key 'expert', expected tensor, pipeline "
        "or data");
  CHECK(message_of(kGood, {"system.network.0.degree=null", "system.network.1.degree=3"}) ==
        "--set system.network.1.degree=3: network: the product of the degrees given is 3, expected "
        "a divisor of the number of chips, 8");
}

}  // namespace
}  // namespace dfsearch
