#pragma once
// Files of other programs that are imported as a config or as its section `workload`.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dfsearch {

/// Suffix of the names of imported files in messages; line numbers refer to the imported text.
inline constexpr std::string_view kAsImported = " (as imported)";

/// The kind of a foreign file, such as "a model of ONNX"; empty for configs and unknown texts.
/// Some kinds are recognised by the name alone.
std::string_view foreign_kind(std::string_view name, std::string_view text);

/// Converts a setup of DFModel, a config.json of Hugging Face or a trace of Chakra into a config or
/// its section `workload`; `name` is the file of the text.  Throws InputError.
std::string imported_text(const std::string& text, const std::string& name);
std::string imported_file(const std::filesystem::path& file);

/// Notes on parts that an imported text lacks, from its comments, one per line; none for other
/// texts.  `source` is the name in messages, with kAsImported.
std::vector<std::string> notes_of_import(const std::string& text, const std::string& source);

/// Models of ONNX are read by the package of Python, not by the library.
bool is_onnx(std::string_view name);

/// Kind of a file, such as "a config of dfsearch"; empty for a text of no known kind.
std::string kind_of_text(const std::string& text);

inline constexpr std::string_view kLeftOut = "Left out: ";
inline constexpr std::string_view kOfOneChip = "Of one of ";
inline constexpr std::string_view kStoredIn = "Stored in ";

}  // namespace dfsearch
