# Fails when LIBRARY exports a symbol outside namespace mindtorch. What the C++ library's templates
# leave behind (weak and unique symbols of std) is harmless.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${NM} -DC --defined-only ${LIBRARY} OUTPUT_VARIABLE output
                COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE ";" "," output "${output}")
string(REPLACE "\n" ";" lines "${output}")
list(FILTER lines EXCLUDE REGEX "mindtorch::")
list(FILTER lines EXCLUDE REGEX "^[0-9a-f]+ [uVvWw] .*(std::|__gnu_cxx::)")
list(FILTER lines EXCLUDE REGEX "^$")
if(lines)
  list(JOIN lines "\n  " text)
  message(FATAL_ERROR "exported, but not in namespace mindtorch:\n  ${text}")
endif()
