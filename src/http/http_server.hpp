#pragma once
// A server for a browser on this machine.

#include <functional>
#include <string>

namespace dfsearch::http {

/// What was asked for: the path with its escapes undone, and what stands behind '?'.
struct Request {
  std::string path;
  std::string query;
};

struct Reply {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

/// Called from several threads at once; may throw.
using Handler = std::function<Reply(const Request&)>;

/// Listens on the loopback address alone.  What asks for other than GET and HEAD, or for the name of
/// another host, which a page of that host may have led here, is refused before the handler.
class Server {
 public:
  Server() = default;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  virtual ~Server() = default;

  /// 0: the port could not be had.
  [[nodiscard]] virtual int port() const = 0;
  /// Answers until it is stopped.
  virtual void run(const Handler& handler) = 0;
  /// From any thread, also before `run`.
  virtual void stop() = 0;
};

}  // namespace dfsearch::http

/// The one function of the module that `dfsearch serve` loads.  The caller owns what it returns;
/// port 0 is any that is free.
extern "C" dfsearch::http::Server* dfsearch_open_server(int port);
