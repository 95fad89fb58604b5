// Parameters of the kinds of blocks: one row for each.  Readers of model families go through the
// rows.

#include "graph/workloads/blocks/block.hpp"

namespace dfsearch {
namespace {

using B = Block;

constexpr BlockParameter kAttention[] = {
    {"heads", &B::heads, true},
    {"dim", &B::dim, true},
    {.name = "kv", .member = &B::kv, .as = &B::heads},
    {.name = "value", .member = &B::value, .as = &B::dim},
    {"bias", &B::bias},
    {"out_bias", &B::out_bias},
    {.name = "k_bias", .member = &B::k_bias, .as = &B::bias},
    {.name = "gate", .member = &B::gate, .words = kGates},
    {.name = "gate_bias", .member = &B::gate_bias, .as = &B::bias},
    {.name = "qk_norm", .member = &B::qk_norm, .words = kQkNorms},
    {"qk_norm_bias", &B::qk_norm_bias},
    {"sinks", &B::sinks},
    {"window", &B::window},
    {"chunk", &B::chunk},
    {"topk", &B::topk},
    {.name = "causal", .member = &B::causal, .preset = 1},
    {"cross", &B::cross},
    {"no_cache", &B::no_cache},
    {"kv_shared", &B::kv_shared},
    {"k_is_v", &B::k_is_v},
    {.name = "project", .member = &B::project, .preset = 1},
    {"indexer.heads", &B::index_heads},
    {"indexer.dim", &B::index_dim},
    {"indexer.topk", &B::index_topk},
    {.name = "indexer.weights", .member = &B::index_weights, .preset = 1}};

constexpr BlockParameter kMla[] = {
    {"heads", &B::heads, true},
    {"q_rank", &B::q_rank},
    {"kv_rank", &B::kv_rank, true},
    {"nope", &B::nope, true},
    {"rope", &B::rope, true},
    {"value", &B::value, true},
    {"bias", &B::bias},
    {"gate", &B::gate},
    {"topk", &B::topk},
    {"indexer.heads", &B::index_heads},
    {"indexer.dim", &B::index_dim},
    {"indexer.topk", &B::index_topk},
    {.name = "indexer.weights", .member = &B::index_weights, .preset = 1}};

constexpr BlockParameter kCompressed[] = {{"heads", &B::heads, true},
                                          {"dim", &B::dim, true},
                                          {"q_rank", &B::q_rank, true},
                                          {"o_groups", &B::o_groups, true},
                                          {"o_rank", &B::o_rank, true},
                                          {"window", &B::window, true},
                                          {"rate", &B::rate},
                                          {"topk", &B::topk},
                                          {"index_heads", &B::index_heads},
                                          {"index_dim", &B::index_dim}};

constexpr BlockParameter kMamba1[] = {{"inner", &B::inner, true},
                                      {"state", &B::state, true},
                                      {"conv", &B::conv, true},
                                      {"dt_rank", &B::dt_rank, true},
                                      {.name = "conv_bias", .member = &B::conv_bias, .preset = 1},
                                      {"bias", &B::bias},
                                      {"norms", &B::norm}};

constexpr BlockParameter kMamba2[] = {{"heads", &B::heads, true},
                                      {"dim", &B::dim, true},
                                      {"state", &B::state, true},
                                      {.name = "groups", .member = &B::groups, .preset = 1},
                                      {"conv", &B::conv, true},
                                      {"chunk", &B::chunk, true},
                                      {.name = "conv_bias", .member = &B::conv_bias, .preset = 1},
                                      {"bias", &B::bias},
                                      {.name = "out_bias", .member = &B::out_bias, .as = &B::bias},
                                      {.name = "norm", .member = &B::norm, .preset = 1}};

constexpr BlockParameter kDeltanet[] = {{"k_heads", &B::k_heads, true},
                                        {"v_heads", &B::v_heads, true},
                                        {"k_dim", &B::k_dim, true},
                                        {"v_dim", &B::v_dim, true},
                                        {"conv", &B::conv, true}};

constexpr BlockParameter kKda[] = {{"heads", &B::heads, true},
                                   {"dim", &B::dim, true},
                                   {"conv", &B::conv, true},
                                   {"full_gate", &B::full_gate}};

constexpr BlockParameter kLightning[] = {
    {"heads", &B::heads, true}, {"dim", &B::dim, true}, {"chunk", &B::chunk, true}};

constexpr BlockParameter kShortconv[] = {{"conv", &B::conv, true}, {"bias", &B::bias}};

constexpr BlockParameter kRecurrence[] = {{"conv_state", &B::conv_state},
                                          {"state", &B::state},
                                          {"flops", &B::flops},
                                          {"elementwise", &B::elementwise},
                                          {"kept", &B::kept}};

constexpr BlockParameter kDense[] = {{"width", &B::width, true},
                                     {.name = "gated", .member = &B::gated, .preset = 1},
                                     {"bias", &B::bias},
                                     {.name = "copies", .member = &B::copies, .preset = 1}};

constexpr BlockParameter kMoe[] = {{"experts", &B::experts, true},
                                   {"used", &B::used, true},
                                   {"width", &B::width, true},
                                   {.name = "gated", .member = &B::gated, .preset = 1},
                                   {"bias", &B::bias},
                                   {"zero", &B::zero},
                                   {"latent", &B::latent},
                                   {"latent_bias", &B::latent_bias},
                                   {"shared", &B::shared},
                                   {"shared_gate", &B::shared_gate},
                                   {"shared_bias", &B::shared_bias},
                                   {"router_bias", &B::router_bias},
                                   {"router_linear_bias", &B::router_linear_bias}};

}  // namespace

std::span<const BlockParameter> parameters_of(BlockKind kind) {
  switch (kind) {
    case BlockKind::Attention:
      return kAttention;
    case BlockKind::Mla:
      return kMla;
    case BlockKind::Compressed:
      return kCompressed;
    case BlockKind::Mamba1:
      return kMamba1;
    case BlockKind::Mamba2:
      return kMamba2;
    case BlockKind::Deltanet:
      return kDeltanet;
    case BlockKind::Kda:
      return kKda;
    case BlockKind::Lightning:
      return kLightning;
    case BlockKind::Shortconv:
      return kShortconv;
    case BlockKind::Recurrence:
      return kRecurrence;
    case BlockKind::Dense:
      return kDense;
    case BlockKind::Moe:
      return kMoe;
    case BlockKind::Extra:
      break;
  }
  return {};
}

}  // namespace dfsearch
