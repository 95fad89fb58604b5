#pragma once
// Files of other programs, which stand for a config or for its section `workload`.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dfsearch {

/// Suffix of the names of such files in messages: their lines count in the imported text.
inline constexpr std::string_view kAsImported = " (as imported)";

/// "a model of ONNX" and the like; empty for a config, and for what is nothing.  Some are known by
/// their names alone.
std::string_view foreign_kind(std::string_view name, std::string_view text);

/// A config, or its section `workload`, of a setup of DFModel, the config.json of Hugging Face or a
/// trace of Chakra; `name` is the file of the text.  Throws InputError.
std::string imported_text(const std::string& text, const std::string& name);
std::string imported_file(const std::filesystem::path& file);

/// Notes on parts that an imported text lacks, from its comments, one a line; none for other texts.
/// `source` is the name in messages, with kAsImported.
std::vector<std::string> notes_of_import(const std::string& text, const std::string& source);

/// Models of ONNX are read by the package of Python, not by the library.
bool is_onnx(std::string_view name);

/// Kind of a file, such as "a config of dfsearch"; empty for a text of no known kind.
std::string kind_of_text(const std::string& text);

inline constexpr std::string_view kLeftOut = "Left out: ";
inline constexpr std::string_view kOfOneChip = "Of one of ";
inline constexpr std::string_view kStoredIn = "Stored in ";

}  // namespace dfsearch
