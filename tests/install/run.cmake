# cmake -D BUILD=<build tree> -D CXX=<compiler> -D PYTHON=<interpreter> -D WORK=<scratch folder>
#       -P run.cmake
#
# Installs the build tree, checks that nothing of it is needed any more by
# building a program on the installed files alone, and runs that and the
# installed dfsearch.  Then tries what is installed beside.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build
    -D CMAKE_PREFIX_PATH=${WORK}/prefix -D CMAKE_CXX_COMPILER=${CXX}
    -D CMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
run(${CMAKE_COMMAND} --build ${WORK}/build)
set(configs ${WORK}/prefix/share/dfsearch/configs)
run(${WORK}/build/stranger ${configs}/gpt3_1t.yaml)
# The program of the page, as its reader would copy it.
file(READ ${CMAKE_CURRENT_LIST_DIR}/../../docs/cpp.md page)
foreach(block "cmake;CMakeLists.txt" "cpp;example.cpp")
  list(GET block 0 language)
  list(GET block 1 name)
  string(REGEX MATCH "```${language}\n([^`]*)```" found "${page}")
  file(WRITE ${WORK}/example/${name} "${CMAKE_MATCH_1}")
endforeach()
run(${CMAKE_COMMAND} -G Ninja -S ${WORK}/example -B ${WORK}/example/build
    -D CMAKE_PREFIX_PATH=${WORK}/prefix -D CMAKE_CXX_COMPILER=${CXX})
run(${CMAKE_COMMAND} --build ${WORK}/example/build)
run(${WORK}/example/build/example)
run(${WORK}/prefix/bin/dfsearch --version)
run(${WORK}/prefix/bin/dfsearch check ${configs}/gpt3_1t.yaml)
run(${WORK}/prefix/bin/dfsearch list systems)
# Configs are found by their names, from a folder that has none of them.
file(MAKE_DIRECTORY ${WORK}/elsewhere)
foreach(words "--config;gpt3_1t.yaml;--threads;64" "study;serving;--dry-run")
  execute_process(COMMAND ${WORK}/prefix/bin/dfsearch ${words} WORKING_DIRECTORY ${WORK}/elsewhere
                  COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endforeach()
# The links of the pages lead to files that were installed.
run(${PYTHON} ${CMAKE_CURRENT_LIST_DIR}/../../tools/dev/check_pages.py --links
    ${WORK}/prefix/share/doc/dfsearch)
