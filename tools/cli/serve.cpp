#include "cli/commands.hpp"

#include <fmt/format.h>

#include <csignal>
#include <memory>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "cli/load_module.hpp"
#include "cli/served_folder.hpp"
#include "cli/standard_output.hpp"
#include "http/http_server.hpp"

namespace dfsearch {
namespace {

#ifdef DFSEARCH_HAS_HTTP
constexpr bool kHasHttp = true;
#else
constexpr bool kHasHttp = false;
#endif

void require_http() {
  if (kHasHttp) return;
  throw InputError(
      "this dfsearch was built without cpp-httplib (libcpp-httplib-dev), expected pages by --html "
      "and 'dfsearch report'");
}

std::unique_ptr<http::Server> open_server(int port) {
  using Open = http::Server*(int);
  auto* const open =
      reinterpret_cast<Open*>(load_module("dfsearch_http.so", "dfsearch_open_server"));
  std::unique_ptr<http::Server> server(open(port));
  if (server->port() == 0) {
    throw InputError(fmt::format(
        "--port: {} cannot be had, another program may have it; 0 is any that is free", port));
  }
  return server;
}

/// SIGINT and SIGTERM wait to be taken; threads inherit that.
sigset_t held_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

}  // namespace

int run_serve(const CommandLine& line) {
  require_http();
  const ServedFolder folder(line.config.empty() ? "." : line.config);
  const sigset_t signals = held_signals();
  const std::unique_ptr<http::Server> server = open_server(static_cast<int>(line.port));
  std::mutex mutex;  // pages of large results are made one at a time
  std::thread answers([&] {
    server->run([&](const http::Request& request) {
      const std::lock_guard lock(mutex);
      return folder.reply(request);
    });
  });
  const auto end = [&] {
    server->stop();
    answers.join();
  };
  try {
    print(fmt::format("http://127.0.0.1:{}/   (Ctrl-C ends it)\n", server->port()));
  } catch (const InputError&) {
    end();
    throw;
  }
  int signal = 0;
  sigwait(&signals, &signal);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);  // once more kills
  end();
  return kProved;
}

}  // namespace dfsearch
