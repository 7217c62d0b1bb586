// Members of string streams that GCC 9 (constructors without arguments) and GCC 11 (C++20's) added
// to libstdc++, written out as it does.
#include <sstream>

template std::__cxx11::basic_ostringstream<char>::basic_ostringstream();
template std::__cxx11::basic_istringstream<char>::basic_istringstream(std::string&&,
                                                                      std::ios_base::openmode);
template std::string std::__cxx11::basic_stringbuf<char>::str() const&;
