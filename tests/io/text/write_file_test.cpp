#include "io/text/files.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace dfsearch {
namespace {

namespace fs = std::filesystem;

/// An empty directory that goes away with the test.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "dfsearch_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() { fs::remove_all(path_); }
  [[nodiscard]] fs::path operator/(const char* name) const { return path_ / name; }
  [[nodiscard]] std::ptrdiff_t entries() const {
    return std::distance(fs::directory_iterator(path_), fs::directory_iterator());
  }

 private:
  fs::path path_;
};

std::string content(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string complaint(void (*function)(const fs::path&), const fs::path& file) {
  try {
    function(file);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

void write_something(const fs::path& file) { write_file(file, "something"); }

}  // namespace

TEST_CASE("a file is written and replaced, and nothing else is left") {
  const ScratchFolder folder;
  const fs::path file = folder / "result.json";
  check_writable(file);
  CHECK(folder.entries() == 0);
  write_file(file, "first");
  CHECK(content(file) == "first");
  check_writable(file);
  CHECK(content(file) == "first");
  write_file(file, "second");
  CHECK(content(file) == "second");
  CHECK(folder.entries() == 1);
}

TEST_CASE("a signal that ends the process while it tries leaves nothing behind") {
  const ScratchFolder folder;
  const fs::path file = folder / "result.json";
  // The handler of the tests allocates, which a child that is just forked cannot do.
  const auto handler = std::signal(SIGTERM, SIG_DFL);
  for (int moment = 0; moment < 200; ++moment) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (;;) check_writable(file);
    }
    ::usleep(static_cast<useconds_t>(500 + 7 * moment));
    REQUIRE(::kill(child, SIGTERM) == 0);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    REQUIRE(folder.entries() == 0);
  }
  std::signal(SIGTERM, handler);
}

TEST_CASE("what a killed writer leaves goes away with the next file of the same name") {
  const ScratchFolder folder;
  const fs::path file = folder / "result.json";
  const std::string text(std::size_t{1} << 20, 'x');
  write_file(file, text);
  std::ptrdiff_t most = 0;
  for (int moment = 0; moment < 60; ++moment) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (;;) write_file(file, text);
    }
    ::usleep(static_cast<useconds_t>(500 + 97 * moment));
    REQUIRE(::kill(child, SIGKILL) == 0);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    most = std::max(most, folder.entries());
    CHECK(content(file) == text);
    if (moment % 2 == 0) {
      write_file(file, text);
    } else {
      check_writable(file);
    }
    REQUIRE(folder.entries() == 1);
  }
  CHECK(most == 2);  // else nothing was tried
}

TEST_CASE("writers of one file at the same time leave each other alone") {
  const ScratchFolder folder;
  const fs::path file = folder / "result.json";
  std::vector<pid_t> writers;
  for (int i = 0; i < 6; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      bool is_whole = true;
      for (int k = 0; k < 100; ++k) {
        is_whole = is_whole && complaint(check_writable, file).empty() &&
                   complaint(write_something, file).empty() && content(file) == "something";
      }
      ::_exit(is_whole ? 0 : 1);
    }
    writers.push_back(child);
  }
  for (const pid_t writer : writers) {
    int status = 0;
    REQUIRE(::waitpid(writer, &status, 0) == writer);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  }
  CHECK(folder.entries() == 1);
}

TEST_CASE("the mode of a file that is replaced stays") {
  const ScratchFolder folder;
  const fs::path file = folder / "result.json";
  write_file(file, "first");
  REQUIRE(::chmod(file.c_str(), 0640) == 0);
  write_file(file, "second");
  CHECK(static_cast<int>(fs::status(file).permissions()) == 0640);
}

TEST_CASE("a symbolic link stays one") {
  const ScratchFolder folder;
  fs::create_symlink("target.json", folder / "link.json");
  check_writable(folder / "link.json");
  write_file(folder / "link.json", "text");
  CHECK(fs::is_symlink(folder / "link.json"));
  CHECK(content(folder / "target.json") == "text");

  fs::create_symlink("loop", folder / "loop");
  CHECK(complaint(check_writable, folder / "loop").find("cannot be written") != std::string::npos);
}

TEST_CASE("what cannot be written is said before and after a search alike") {
  const ScratchFolder folder;
  write_file(folder / "file", "text");
  for (const char* name : {"missing/result.json", "file/result.json", "."}) {
    CAPTURE(name);
    for (const auto function : {check_writable, write_something}) {
      const std::string message = complaint(function, folder / name);
      CHECK(message.find((folder / name).string()) == 0);
      CHECK(message.find("cannot be written: ") != std::string::npos);
    }
  }
  CHECK(complaint(check_writable, "") != "");
  CHECK(complaint(check_writable, folder / "folder/") != "");
  CHECK(folder.entries() == 1);
}

TEST_CASE("a full disk is an error and leaves no file") {
  if (!fs::exists("/dev/full")) return;
  CHECK(complaint(write_something, "/dev/full") ==
        "/dev/full: cannot be written: No space left on device");
  CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("devices are written, not replaced") {
  write_file("/dev/null", "text");
  CHECK(fs::is_character_file("/dev/null"));
}

}  // namespace dfsearch
