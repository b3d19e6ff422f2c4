# The CUDA backend: a module of its own (fugue_cuda.so), built where nvcc is found and FUGUE_CUDA is
# not OFF.  Its interface to the program is named by a hash of the headers both include, so that a
# module of another build is refused.
set(FUGUE_CUDA AUTO CACHE STRING "Build the CUDA backend: AUTO (where nvcc is found), ON or OFF")
set(interface_headers backend/backend.h backend/plan.h backend/load.h base/error.h base/shape.h
  base/rng.h nn/op.h nn/optim.h nn/optim_rule.h nn/schedule.h nn/task.h)
set(interface "")
foreach(header ${interface_headers})
  file(SHA256 ${CMAKE_CURRENT_SOURCE_DIR}/${header} hash)
  string(APPEND interface ${hash})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${CMAKE_CURRENT_SOURCE_DIR}/${header})
endforeach()
string(SHA256 interface "${interface}")
string(SUBSTRING "${interface}" 0 32 FUGUE_INTERFACE)
configure_file(${CMAKE_SOURCE_DIR}/cmake/interface.h.in
  ${CMAKE_BINARY_DIR}/generated/fugue_interface.h @ONLY)

include(CheckLanguage)
if(NOT FUGUE_CUDA STREQUAL "OFF" AND NOT FUGUE_SANITIZE AND NOT FUGUE_COVERAGE)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER AND FUGUE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "FUGUE_CUDA=ON, but nvcc was not found: put it on PATH or set CUDACXX")
  endif()
endif()
if(CMAKE_CUDA_COMPILER)
  # Machine code for Hopper, PTX for everything from Ampere on.
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90a-real 80-virtual)
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.c
    ${CMAKE_CURRENT_LIST_DIR}/*.cu)
  add_library(fugue_cuda MODULE ${cuda_sources})
  set_target_properties(fugue_cuda PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden
    CUDA_VISIBILITY_PRESET hidden CUDA_STANDARD 17 CUDA_RUNTIME_LIBRARY Static
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_include_directories(fugue_cuda PRIVATE ${CMAKE_SOURCE_DIR}/src
    ${CMAKE_BINARY_DIR}/generated)
  target_include_directories(fugue_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_compile_definitions(fugue_cuda PRIVATE _GNU_SOURCE)
  target_compile_options(fugue_cuda PRIVATE
    $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes
      -Wmissing-prototypes -Wvla -ffp-contract=off $<$<BOOL:${FUGUE_DEVELOPER}>:-Werror>>
    $<$<COMPILE_LANGUAGE:CUDA>:-lineinfo -Xcompiler=-Wall>)
  target_link_libraries(fugue_cuda PRIVATE Threads::Threads)
  target_link_options(fugue_cuda PRIVATE -Wl,--no-undefined -Wl,--exclude-libs,ALL)
  install(TARGETS fugue_cuda LIBRARY DESTINATION lib/fugue)
endif()
