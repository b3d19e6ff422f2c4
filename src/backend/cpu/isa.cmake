# The tuned kernels (isa/*.c) are compiled once for each instruction set; which one runs is decided
# at run time (cpu/isa.c).  FUGUE_ISA names the set and ends its symbols.
#   -fno-math-errno, -fno-trapping-math: square roots and selections become vector instructions;
#   neither changes a value.  Contraction stays off: fused multiply-adds are written out.
file(GLOB isa_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/isa/*.c)
function(fugue_isa name)
  add_library(fugue_isa_${name} OBJECT ${isa_sources})
  target_link_libraries(fugue_isa_${name} PRIVATE fugue_flags)
  target_compile_definitions(fugue_isa_${name} PRIVATE FUGUE_ISA=${name} FUGUE_ISA_${name})
  target_compile_options(fugue_isa_${name} PRIVATE -fno-math-errno -fno-trapping-math
    $<$<NOT:$<CONFIG:Debug>>:-O3> ${ARGN})
  target_sources(fugue_backend PRIVATE $<TARGET_OBJECTS:fugue_isa_${name}>)
endfunction()

fugue_isa(generic)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  fugue_isa(avx2 -mavx2 -mfma)
  fugue_isa(avx512 -mavx512f -mavx512vl -mavx512bw -mavx512dq -mavx2 -mfma
    -mprefer-vector-width=512)
  target_compile_definitions(fugue_backend PRIVATE FUGUE_CPU_X86)
endif()
