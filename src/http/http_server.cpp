#include "http/http_server.hpp"

#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

namespace dfsearch::http {
namespace {

constexpr const char* kLoopback = "127.0.0.1";
constexpr std::size_t kThreads = 32;  // slow clients have one each for kPatience at a time
constexpr time_t kPatience = 2;       // s
constexpr std::size_t kMostOfBody = 1024;

/// A page runs its own scripts and loads nothing; no other page may show or read it.
httplib::Headers safe_headers() {
  return {{"Content-Security-Policy",
           "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src "
           "data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Referrer-Policy", "no-referrer"},
          {"Cache-Control", "no-store"}};
}

class HttplibServer final : public Server {
 public:
  explicit HttplibServer(int port) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    // Without SO_REUSEPORT, which would let two programs share a port.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server_.set_default_headers(safe_headers());
    // One request a connection: what is left unread of it is never taken for the next one.
    server_.set_keep_alive_max_count(1);
    server_.set_read_timeout(kPatience);
    server_.set_write_timeout(kPatience);
    server_.set_payload_max_length(kMostOfBody);
    if (port == 0) {
      port_ = std::max(server_.bind_to_any_port(kLoopback), 0);
    } else if (server_.bind_to_port(kLoopback, port)) {
      port_ = port;
    }
  }

  [[nodiscard]] int port() const override { return port_; }

  void run(const Handler& handler) override {
    server_.set_pre_routing_handler([&](const httplib::Request& asked, httplib::Response& answer) {
      const Reply reply = reply_to(asked, handler);
      answer.status = reply.status;
      if (reply.status == 405) answer.set_header("Allow", "GET, HEAD");
      answer.set_content(reply.body, reply.type.c_str());
      return httplib::Server::HandlerResponse::Handled;
    });
    runs_ = true;
    if (!stopped_) server_.listen_after_bind();
    runs_ = false;
  }

  void stop() override {
    stopped_ = true;
    // What is about to listen can be stopped once it does.
    while (runs_ && !server_.is_running())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    server_.stop();
  }

 private:
  /// A page of another site may have its name lead to this machine (DNS rebinding), but not the name
  /// that the browser sends.
  [[nodiscard]] bool is_for_us(const httplib::Request& asked) const {
    if (asked.get_header_value_count("Host") != 1) return false;
    const std::string host = asked.get_header_value("Host");
    const std::string port = ":" + std::to_string(port_);
    return host == kLoopback + port || host == "localhost" + port ||
           (port_ == 80 && (host == kLoopback || host == "localhost"));
  }

  [[nodiscard]] Reply reply_to(const httplib::Request& asked, const Handler& handler) const {
    if (!is_for_us(asked)) return {.status = 403, .body = "expected another host\n"};
    if (asked.method != "GET" && asked.method != "HEAD") {
      return {.status = 405, .body = "expected GET or HEAD\n"};
    }
    try {
      const std::size_t query = asked.target.find('?');
      return handler({.path = asked.path,
                      .query = query == std::string::npos ? "" : asked.target.substr(query + 1)});
    } catch (const std::exception& error) {
      return {.status = 500, .body = std::string(error.what()) + "\n"};
    }
  }

  httplib::Server server_;
  int port_ = 0;
  std::atomic<bool> runs_ = false;
  std::atomic<bool> stopped_ = false;
};

}  // namespace
}  // namespace dfsearch::http

dfsearch::http::Server* dfsearch_open_server(int port) {
  return new dfsearch::http::HttplibServer(port);
}
