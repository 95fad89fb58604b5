#include "io/text/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "io/text/input_messages.hpp"

namespace dfsearch {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& name, int error) {
  throw InputError(name + ": cannot be written: " + std::generic_category().message(error));
}

/// Owns an open file; close() reports errors, which the destructor cannot.
class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  [[nodiscard]] int get() const { return descriptor_; }
  /// Some file systems report a full disk only here.
  void close(const std::string& name) {
    if (::close(std::exchange(descriptor_, -1)) != 0) fail(name, errno);
  }

 private:
  int descriptor_;
};

/// Removes the temporary file unless it has become the target.
class Temporary {
 public:
  explicit Temporary(fs::path path) : path_(std::move(path)) {}
  Temporary(Temporary&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  void release() { path_.clear(); }

 private:
  fs::path path_;
};

/// Holds back signals that would end the process, so that it cannot end between the creation of a
/// file and its removal.  A signal that came meanwhile is delivered afterwards.
class SignalsHeldBack {
 public:
  SignalsHeldBack() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  SignalsHeldBack(const SignalsHeldBack&) = delete;
  SignalsHeldBack& operator=(const SignalsHeldBack&) = delete;
  ~SignalsHeldBack() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

/// The file that a path means, links followed; a file that does not exist yet is its own target.
fs::path target_of(const fs::path& file) {
  std::error_code error;
  fs::path target = file;
  // A link to a file that does not exist yet: canonical would fail.
  for (int links = 0; fs::is_symlink(fs::symlink_status(target, error)); ++links) {
    if (links == 40) fail(file.string(), ELOOP);
    const fs::path to = fs::read_symlink(target, error);
    if (error) break;
    target = to.is_absolute() ? to : target.parent_path() / to;
  }
  return target;
}

fs::path directory_of(const fs::path& target) {
  return target.has_parent_path() ? target.parent_path() : fs::path(".");
}

bool is_at(const fs::path& path, const Descriptor& file) {
  struct stat there {
  }, open{};
  return ::lstat(path.c_str(), &there) == 0 && ::fstat(file.get(), &open) == 0 &&
         there.st_dev == open.st_dev && there.st_ino == open.st_ino;
}

/// Removes the file of a writer that was killed.  A living writer holds a lock on its file.
void remove_abandoned(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0 || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return;
  if (is_at(path, file)) ::unlink(path.c_str());
}

/// A temporary file of our own, open.
struct OwnTemporary {
  Descriptor descriptor;
  fs::path path;
  Temporary removal;
};

/// Takes the first of a few names that no living writer of the same target uses, and removes the
/// files of killed writers under these and the next names.
OwnTemporary create_temporary(const fs::path& target, const std::string& name) {
  constexpr int kNames = 1000, kBehind = 8;
  const auto path_of = [&](int place) {
    return directory_of(target) / fmt::format(".{}.{}.tmp", target.filename().string(), place);
  };
  for (int place = 0;; ++place) {
    const fs::path path = path_of(place);
    remove_abandoned(path);
    // Exclusive, so that no other process has it.
    const int opened = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (opened < 0 && (errno != EEXIST || place >= kNames)) fail(name, errno);
    if (opened < 0) continue;
    Descriptor descriptor(opened);
    // Another process may have removed the file before this lock.  On file systems without locks no
    // process takes a file for abandoned.
    static_cast<void>(::flock(opened, LOCK_EX));
    if (!is_at(path, descriptor)) continue;
    for (int behind = 1; behind <= kBehind; ++behind) remove_abandoned(path_of(place + behind));
    return {std::move(descriptor), path, Temporary(path)};
  }
}

/// Opens a device or a pipe.  Opening a pipe without a reader would block, and a signal that only
/// raises a flag would not end the wait.
int open_directly(const fs::path& target, const std::string& name, const Deadline& deadline) {
  constexpr auto kPause = std::chrono::milliseconds(10);
  constexpr Seconds kMoment{1.0};
  const Deadline moment(kMoment);
  for (;;) {
    const int descriptor = ::open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor >= 0) {
      ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
      return descriptor;
    }
    std::error_code error;
    if (errno != ENXIO || !fs::is_fifo(target, error)) fail(name, errno);
    if (deadline.has_passed() && moment.has_passed()) {
      throw InputError(name + ": cannot be written: nobody reads from this pipe");
    }
    std::this_thread::sleep_for(kPause);
  }
}

/// True for devices and pipes, which cannot be renamed over.
bool is_written_directly(const fs::path& target, const std::string& name) {
  struct stat status {};
  if (::stat(target.c_str(), &status) != 0) {
    if (errno == ENOENT) return false;
    fail(name, errno);
  }
  if (S_ISDIR(status.st_mode)) fail(name, EISDIR);
  if (::access(target.c_str(), W_OK) != 0) fail(name, errno);
  return !S_ISREG(status.st_mode);
}

[[noreturn]] void cannot_read(const std::filesystem::path& file, std::string_view why) {
  InputMessages messages;
  messages.add({.source = std::make_shared<const std::string>(file.string())}, "", why);
  messages.throw_if_any();
  throw InternalError("an input message was lost");
}

}  // namespace

void write_all(int descriptor, std::string_view text, const std::string& name) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) fail(name, errno);
      // Another process that shares this pipe or terminal has made it non-blocking.
      pollfd ready{.fd = descriptor, .events = POLLOUT, .revents = 0};
      static_cast<void>(::poll(&ready, 1, -1));
      continue;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void check_writable(const fs::path& file) {
  const std::string name = file.string();
  if (!file.has_filename()) throw InputError("'" + name + "' is no name of a file");
  const fs::path target = target_of(file);
  if (is_written_directly(target, name)) return;
  // Only an attempt gives the right answer for quotas, read-only mounts and root.
  const SignalsHeldBack held;
  create_temporary(target, name);
}

void write_file(const fs::path& file, std::string_view text, const Deadline& deadline) {
  const std::string name = file.string();
  const fs::path target = target_of(file);
  if (is_written_directly(target, name)) {
    Descriptor descriptor(open_directly(target, name, deadline));
    write_all(descriptor.get(), text, name);
    descriptor.close(name);
    return;
  }
  OwnTemporary temporary = create_temporary(target, name);
  Descriptor& descriptor = temporary.descriptor;
  struct stat old {};
  if (::stat(target.c_str(), &old) == 0 && ::fchmod(descriptor.get(), old.st_mode & 07777) != 0) {
    fail(name, errno);
  }
  write_all(descriptor.get(), text, name);
  if (::fsync(descriptor.get()) != 0) fail(name, errno);
  // The file is locked until it is renamed, else another process would take it for abandoned.
  if (::rename(temporary.path.c_str(), target.c_str()) != 0) fail(name, errno);
  temporary.removal.release();
  descriptor.close(name);
  // The rename reaches the disk when the directory is flushed.  The new file is complete in any
  // case, so a file system that refuses the flush is no failure.
  const Descriptor directory(
      ::open(directory_of(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) static_cast<void>(::fsync(directory.get()));
}

std::string read_file(const std::filesystem::path& file, std::size_t most) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) {
    cannot_read(
        file,
        "cannot read: " +
            (error ? error : std::make_error_code(std::errc::no_such_file_or_directory)).message());
  }
  if (std::filesystem::is_directory(status)) cannot_read(file, "is a directory, expected a file");
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) cannot_read(file, std::string("cannot read: ") + std::strerror(errno));
  // Reads in pieces, since pipes and devices have no size.
  std::string text;
  std::string piece(std::size_t{1} << 16, '\0');
  while (stream) {
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece, 0, static_cast<std::size_t>(stream.gcount()));
    if (text.size() > most) cannot_read(file, fmt::format("is larger than {} MiB", most >> 20));
  }
  if (stream.bad()) cannot_read(file, std::string("cannot read: ") + std::strerror(errno));
  return text;
}

}  // namespace dfsearch
