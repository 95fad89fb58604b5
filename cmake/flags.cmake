# Compile flags of every file of the project.  Linked as $<BUILD_INTERFACE:...>, so users of the
# installed libraries get none of them.
add_library(dfsearch_flags INTERFACE)
target_compile_options(
  dfsearch_flags
  INTERFACE -Wall
            -Wextra
            -Wpedantic
            -Wconversion # a count that loses bits is a wrong cost
            -Wsign-conversion
            -Wshadow
            -Wnon-virtual-dtor
            -Woverloaded-virtual
            -Wold-style-cast
            -Wdouble-promotion
            -Wcast-align
            # Designated initialisers leave out what keeps its default.
            -Wno-missing-field-initializers
            # No fused multiply-add: all machines agree to the last bit.
            -ffp-contract=off
            # Functions of a library may be inlined there, as in a program.
            -fno-semantic-interposition
            # A compiler that collects its garbage seldom takes a tenth less time for 0.4 GB more.
            $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=400000>
            $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-expand=100>)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False warnings of GCC 12 with optimisation: overlaps in "text" + std::string (bug 105651), reads
  # past the end of Boost's small_vector.
  target_compile_options(dfsearch_flags INTERFACE -Wno-restrict -Wno-stringop-overread)
  target_link_options(dfsearch_flags INTERFACE -Wno-restrict -Wno-stringop-overread)
endif()

if(DFSEARCH_WERROR)
  target_compile_options(dfsearch_flags INTERFACE -Werror)
endif()
if(DFSEARCH_NATIVE)
  target_compile_options(dfsearch_flags INTERFACE -march=native)
endif()
if(DFSEARCH_CHECKS)
  target_compile_definitions(dfsearch_flags INTERFACE DFSEARCH_CHECKS _GLIBCXX_ASSERTIONS)
endif()
if(DFSEARCH_SANITIZE)
  # GCC warns of members that sanitized copies of an optional may leave unset.
  target_compile_options(dfsearch_flags INTERFACE -fsanitize=${DFSEARCH_SANITIZE}
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> -fno-omit-frame-pointer)
  target_link_options(dfsearch_flags INTERFACE -fsanitize=${DFSEARCH_SANITIZE})
endif()
if(DFSEARCH_FUZZ)
  # What a fuzzer sees of the code is which of its edges are taken.  It learns of
  # undefined behaviour only if that ends the program.
  target_compile_options(dfsearch_flags INTERFACE -fsanitize=fuzzer-no-link
                                                  -fno-sanitize-recover=all)
endif()
if(CMAKE_INTERPROCEDURAL_OPTIMIZATION AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Machine code beside the intermediate form; without it the installed
  # archives hold nothing that another compiler could link.
  target_compile_options(dfsearch_flags INTERFACE -ffat-lto-objects)
endif()

# Text, linear programs, chips, splits and studies take milliseconds of a run, and -O1 takes a
# quarter longer than -Og to compile them, which lengthens a first build.  Packages are compiled once
# for many and have the flags of all.
set(DFSEARCH_TEXT_OPTIONS $<$<CONFIG:Release>:-Og>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # It warns there of members that are set.
  list(APPEND DFSEARCH_TEXT_OPTIONS $<$<CONFIG:Release>:-Wno-maybe-uninitialized>)
endif()
if(CMAKE_INTERPROCEDURAL_OPTIMIZATION)
  set(DFSEARCH_TEXT_OPTIONS "")
endif()
