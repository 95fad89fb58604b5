#pragma once
// The text of --help; {} stands for the list of the bounds.

namespace dfsearch {

inline constexpr const char* kHelp =
    R"(dfsearch: exact search for the best mapping of a dataflow graph onto many chips

usage: dfsearch [solve] CONFIG [options]         search, report, exit
       dfsearch evaluate CONFIG --mapping FILE   cost of a given mapping, or why it does not fit
       dfsearch check CONFIG                     read and validate only
       dfsearch graph CONFIG [options]           the dataflow graph as a config, setup or picture
       dfsearch import SETUP.txt [-o CONFIG]     a setup of DFModel (protobuf text) as a config
       dfsearch import config.json [-o FILE]     a model of Hugging Face as a section 'workload'
       dfsearch export CONFIG [options]          a mixed-integer program for other solvers
       dfsearch chip CONFIG... [options]         the chips that technologies and budgets give
       dfsearch gemm CONFIG --shape MxKxN        the time of a GEMM alone on such a chip
       dfsearch predict TABLE.csv [-o OUT.csv]   times of measured runs or deployments, and errors
       dfsearch emit RESULT --for FRAMEWORK      launch arguments of a plan or deployment
       dfsearch study STUDY [-o DIR] [options]   all points of a design space, or its exact front
       dfsearch study merge DIR... -o DIR        parts of a study put together
       dfsearch list [KIND] [--json FILE|-]      the systems, workloads, studies and configs by name
       dfsearch schema                           the keys of a CONFIG as a JSON Schema, for editors
       dfsearch report RESULT [-o PAGE.html]     a page of a result, or of the folder of a study
       dfsearch --help | --version

A CONFIG is YAML or JSON (docs/formats.md); --config CONFIG says the same.  What is no file is one
of the shelf, which is part of the program: gpt3_1t, gpt3_1t.yaml, configs/gpt3_1t.yaml; so is a
STUDY (serving).  A report for people goes to standard output, progress and errors to standard
error.  With a section 'training' a CONFIG asks for the best plan of a training step, with
'equations: calculon' for the best execution of Calculon's model, in place of a mapping: solve and
check take these, without the options of mappings.

all commands but import, predict, emit, report, list and schema
  --set KEY=VALUE        override a key of the config, system.network.0.degree=16; repeatable

solve
  --threads N            worker threads, 1 to 1024 (all hardware threads)
  --gap G                stop once (best - lower bound) / best is at most G, from 0 to 1 (0)
  --time-limit T         stop after so long, a quantity such as '20 min' or '90 s'
  --memory-limit B       near so many bytes kept by the search, a quantity such as '4 GiB', it
                         goes on with less (half of the machine)
  --node-limit N         stop after so many nodes of the search
  --objective O          what to minimise: step_time, or its product with the price or
                         power of the machine: cost_efficiency, power_efficiency
  --top K                the best mapping for each of the K best parallelisms (the best one, and
                         how far the next one is if that is soon found); of a budget that leaves
                         something out the K best splits
  --json FILE|-          the result as JSON (docs/results.md); with - in place of the report
  --html FILE            the result as a page for the browser, in one file (docs/pages.md)
  --mapping FILE         the mapping found, as JSON that --hint and evaluate read
  --hint FILE            a mapping or plan to start from; dropped if it does not fit
  --checkpoint FILE      keep the state of the search there; a kill loses seconds
  --resume FILE          go on from such a state, with the same config
  --events FILE|-        what happens, as JSON lines; with - in place of the report
  --no-bound NAME        search without one of the bounds below: the same answer, only later;
                         repeatable
  --robust               with 'training' and a stack: the plan of least regret as well, whatever
                         the stack's constants turn out to be (docs/truth.md)
  --count                with 'equations: calculon': how many executions fit, of the whole space
  --deterministic        the same nodes and the same log for any number of threads
  --quiet                no progress
  --verbose              a line of progress for every better mapping, and at the end what the
                         parts of the search did

evaluate
  --mapping FILE         the mapping: a result of solve, or YAML with its keys
  --solution FILE        or what a solver found for an exported program; then --mapping decides
                         what the program took as given, if the config leaves it open
  --json FILE|-          the result as JSON; with - in place of the report
  --html FILE            the result as a page

graph
  --format F             yaml or json: a config of 'kind: graph' with exact numbers; dot: a
                         picture for Graphviz; dfmodel: the whole config as a setup (yaml)
  --mapping FILE         for dot: cluster the kernels by partition
  -o, --output FILE|-    where to write it (-)

import
  -o, --output FILE|-    where to write the config, or the section (-)

export
  --part P               fusion: partitions and cores of a layer, or sharding (fusion)
  --format F             mps or lp (as FILE ends, else mps)
  --mapping FILE         network, tile, micro-batch and sharding of a result; needed where the
                         config leaves them open
  -o, --output FILE|-    where to write it (-)

chip
  --json FILE|-          the chips as JSON; with - in place of the tables
                         A config of a chip needs its system only (docs/technology.md).  Of several
                         each is a row of one table; a folder stands for all configs in it

gemm
  --shape MxKxN          extents of the GEMM; repeatable
  --word B               size of an element ('2 B')
  --published            beside it the time that the public code of DeepFlow gives
  --json FILE|-          the times as JSON; with - in place of the table

predict, a table of training runs (docs/truth.md); of deployments that serve (docs/serving.md) with
-o and --worst alone
  --by GROUP             the table of errors by source, model, gpu or gpus (source); repeatable
  --worst N              tell the N runs that are farthest off, and the largest part of each (5)
  --html PAGE            predicted against measured times, and the tables, as a page
  -o OUT.csv             time, interval, parts, memory and error of each run
  --fit STACK.yaml       fit the constants that a stack marks to its timed runs, cross-validated;
                         write the stack there, and use it
  --stack NAME           the stack to fit, if runs have several
  --holdout SHARE|COLUMN=VALUE  runs that the fit does not see; their error stands beside
  --stacks DIR           DIR/NAME.yaml goes before the stack or chip NAME of the shelf
  --threads N            worker threads (all hardware threads)
  --quiet                no progress

emit, of what --json wrote of a plan of training or a deployment
  --for FRAMEWORK        megatron, torchtitan or deepspeed; vllm, sglang or trtllm
  -o, --output FILE|-    where to write the arguments (-); comments say what the framework cannot do

list
  --json FILE|-          the list as JSON; with - in place of the table.  A KIND is systems,
                         workloads or studies (all of these), or configs; all have their names in
                         every folder: 'dfsearch NAME', 'dfsearch study NAME', and in a CONFIG
                         'system: {{from: NAME}}'

study
  -o, --output DIR       the folder for results.ndjson, results.csv, front.json and study.json (the
                         name of STUDY); the same command goes on with a study that was stopped
  --points               list the points, and --print POINT the whole config of one, by its
                         number or as 'sram=640 MiB,link=pcie'
  --dry-run              check the study, and say which axes bound boxes of points
  --only AXIS=LABEL,...  the points with these labels only; repeatable
  --all                  solve all points, not only those that the front needs
  --shard K/N            the K-th of N parts; 'study merge' puts their folders together
  --point-time-limit T   stop a point after so long; --time-limit is that of the whole run
  --node-limit N         stop a point after so many nodes
  --deterministic        no times in the results: the same bytes, once sorted, for any threads
  --threads, --gap, --memory-limit, --quiet  as for solve

report
  -o, --output FILE|-    where to write the page (-)
                         RESULT is what --json wrote, or the folder of a study.  The graph is drawn
                         by Graphviz where it is installed

examples
  dfsearch --config gpt3_1t.yaml --threads 64
  dfsearch configs/gpt3_1t.yaml --time-limit '20 min' --json result.json --mapping best.json
  dfsearch configs/gpt3_1t.yaml --html page.html
  dfsearch report result.json -o page.html
  dfsearch configs/gpt3_1t.yaml --set execution.partitions=8 --hint best.json
  dfsearch configs/gpt3_1t_free.yaml --top 5
  dfsearch configs/training/llama3_70b_2048_h100.yaml
  dfsearch configs/calculon_1t.yaml --count
  dfsearch configs/gpt3_1t_free.yaml --checkpoint run.ck
  dfsearch configs/gpt3_1t_free.yaml --resume run.ck --checkpoint run.ck
  dfsearch evaluate configs/gpt3_1t.yaml --mapping best.json
  dfsearch export configs/gpt3_1t.yaml --mapping best.json -o fusion.mps
  dfsearch evaluate configs/gpt3_1t.yaml --mapping best.json --solution fusion.sol
  dfsearch graph configs/gpt3_1t.yaml --format dot --mapping best.json | dot -Tsvg -o graph.svg
  dfsearch graph configs/gpt3_1t.yaml --format dfmodel -o setup.txt
  dfsearch list systems
  dfsearch chip configs/chips/v100.yaml
  dfsearch chip configs/chips
  dfsearch configs/seven_nm_split.yaml
  dfsearch gemm configs/chips/v100.yaml --shape 4096x4096x4096 --published
  dfsearch study configs/studies/sram_bandwidth.yaml -o sram --threads 2
  dfsearch import setup.txt -o gpt3_1t_again.yaml
  dfsearch configs/transformers/llama3_70b.yaml --set workload.model=qwen2_5_72b

progress: time, nodes expanded and open, best step time with its utilization, lower bound, gap,
and how the best was found: H hint, S segments of one order, R relaxed sharding, P partitions that
dual values just pay for, T tree, B middle of a box of splits; #2 while the next-best parallelism or
split is sought.  SIGINT (Ctrl-C) and SIGTERM stop a search; it reports and writes the best mapping
so far.  A second one kills.

bounds, with their sections of docs/search.md
{}
exit status
  0  proved within the gap asked for; evaluate: the mapping fits
  1  internal error
  2  usage or input error, or a file that cannot be written
  3  proved infeasible; evaluate: the mapping does not fit
  4  stopped by a limit or a signal, with a mapping
  5  stopped by a limit or a signal, without one
  study: 0 all that had to be solved is proved, 3 and nothing fits; 4 something is not, 5 nothing is
)";

}  // namespace dfsearch
