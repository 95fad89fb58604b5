#pragma once
// Functions of plain_model.hpp for one kernel or tensor, as tables: layouts, contents of tensors,
// work.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/problem.hpp"

namespace dfsearch::test::plain {

inline double number(std::int64_t value) { return static_cast<double>(value); }

struct Extents {
  double m, k, n;
};

/// Layouts are written as in docs/model.md: RR, RS, SR.
std::string produced(Loop loop);
std::string consumed(const Kernel& kernel, Loop loop, int operand);
bool gathers(const std::string& from, const std::string& to);
bool exchanges(const std::string& from, const std::string& to);

/// Whether a value is converted once for all its consumers.
bool by_value(const Problem& problem);
/// The layout that the consumer of a tensor wants, by what its rows are where values count; SS is
/// split along M, of groups of rows that are added up.
std::string wanted(const Problem& problem, const Tensor& t, Loop loop);
/// Whether a tensor before this one carries the same value to the same layout.
bool is_there(const Problem& problem, std::size_t tensor, const std::vector<Loop>& sharding);

/// Tensors between layers, if they are charged.
std::vector<Tensor> seams(const Problem& problem);
/// Whether chips exchange what makes the rows of a column one.
bool couples(const Problem& problem, const Kernel& kernel, Loop loop);

/// Heads of the tensor for the heads of its consumer, several of which may share one; and the
/// greatest number of them that one of the chips reads.
double heads_of(const Tensor& t, const Kernel& producer, const Kernel& consumer);
double most_heads(double heads, double shared, double chips);

double whole_output(const Problem& problem, const Kernel& kernel);
/// What a tensor carries of its producer: a part has rows of its own.
Kernel carried(const Tensor& tensor, Kernel producer);

/// Keys that the queries of a head see, counted one query after the other.
double pairs_of(const Kernel& kernel);
/// Scores and context forward; backward these scores again and four gradients.
double depth_of(const Kernel& kernel);
double flop_of(const Kernel& k);
/// How often the loops run.
double times(const Kernel& kernel);

}  // namespace dfsearch::test::plain
