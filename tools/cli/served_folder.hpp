#pragma once
// What `dfsearch serve` shows of a folder.

#include <filesystem>
#include <string>

#include "http/http_server.hpp"

namespace dfsearch {

/// Reads what is in the folder, and nothing that a path or a link leads to outside of it.
class ServedFolder {
 public:
  /// Throws InputError for what is no folder.
  explicit ServedFolder(const std::filesystem::path& folder);

  /// A list of a folder; the page of a result or of a study.json; a page or a table as it is, and
  /// with the query `raw` a result as well.  Any thread.
  [[nodiscard]] http::Reply reply(const http::Request& request) const;

 private:
  /// What a path of a request means; empty: nothing that may be shown.
  [[nodiscard]] std::filesystem::path find(const std::string& path) const;
  [[nodiscard]] std::string read(const std::filesystem::path& file) const;
  [[nodiscard]] bool holds(const std::filesystem::path& canonical) const;
  [[nodiscard]] http::Reply list(const std::filesystem::path& folder) const;
  [[nodiscard]] http::Reply page(const std::filesystem::path& file, bool raw) const;

  const std::filesystem::path root_;  // canonical
};

}  // namespace dfsearch
