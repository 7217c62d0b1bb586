# Sourced by the other scripts: what this machine has, and whether that is enough to build. A function
# that checks prints one sentence and returns 1.

# What one compiler process takes at most.
job_mib=1300
# What counts as available where the system does not say: enough.
unknown_mib=$((1 << 20))
# What .venv and build/release take together, for the demo and with every test, and room for temporary
# files.
demo_disk_mib=800
disk_mib=1500
spare_disk_mib=100

check_platform() {
  case $(uname -s)-$(uname -m) in
  Linux-x86_64 | Linux-aarch64) ;;
  *)
    echo "mindtorch is built on Linux, on x86-64 or aarch64, and this is $(uname -s) on $(uname -m)"
    return 1
    ;;
  esac
}

# The compiler that CMake would take, or nothing.
find_compiler() {
  local name
  if [[ -n ${CXX:-} ]]; then
    if command -v "${CXX%% *}" >/dev/null; then echo "$CXX"; fi
    return
  fi
  for name in c++ g++ clang++; do
    if command -v "$name"; then return; fi
  done
}

# Whether a compiler (a command with its arguments) can do what the sources need.
check_compiler() {
  local command found
  read -ra command <<<"$1"
  found=$("${command[@]}" -std=c++20 -x c++ -fsyntax-only - 2>&1 <<'CPP'
#include <bit>
#include <concepts>
#include <span>
#if defined(__clang__) ? __clang_major__ < 14 : __GNUC__ < 12
#error "the compiler is too old"
#endif
CPP
  ) && return
  local version
  version=$("${command[@]}" --version 2>&1 | head -1) || true
  if [[ $found == *"compiler is too old"* || $found == *"-std="* ]]; then
    echo "GCC 12 or Clang 14 or newer is needed, and $1 is ${version:-neither}"
  else
    echo "the C++ compiler $1 cannot compile a small program: $(head -1 <<<"$found")"
  fi
  return 1
}

# Memory that processes can still take, in MiB: of the machine, or of the control group (a container)
# if that leaves less. The arguments are where to read, for tests.
available_mib() {
  local meminfo=${1:-/proc/meminfo} groups=${2:-/sys/fs/cgroup} own=${3:-/proc/self/cgroup}
  local found='' swap=0 name value _
  while read -r name value _; do
    case $name in
    MemAvailable:) found=$((value / 1024)) ;;
    SwapFree:) swap=$((value / 1024)) ;;
    esac
  done < <(cat "$meminfo" 2>/dev/null)
  if [[ -n $found ]]; then found=$((found + swap)); else found=$unknown_mib; fi
  local id controllers path folder limit used cache
  while IFS=: read -r id controllers path; do
    case $id:$controllers in
    0:) folder=$groups limit=memory.max used=memory.current cache='inactive_file|active_file' ;;
    *:memory | *:memory,* | *:*,memory)
      folder=$groups/memory limit=memory.limit_in_bytes used=memory.usage_in_bytes
      cache='total_inactive_file|total_active_file'
      ;;
    *) continue ;;
    esac
    # Every group up to the root sets a limit of its own; inside a container the path may not be there.
    while true; do
      local here=$folder${path%/} left=0
      if [[ -r $here/$limit && -r $here/$used && $(<"$here/$limit") =~ ^[0-9]{1,18}$ ]]; then
        left=$(($(<"$here/$limit") - $(<"$here/$used")))
        while read -r name value _; do
          if [[ $name =~ ^($cache)$ ]]; then left=$((left + value)); fi
        done < <(cat "$here/memory.stat" 2>/dev/null)
        if ((left / 1048576 < found)); then found=$((left / 1048576)); fi
      fi
      [[ -n ${path%/} ]] || break
      path=${path%/*}
    done
  done < <(cat "$own" 2>/dev/null)
  echo $((found > 0 ? found : 0))
}

# The number of jobs that memory allows, at most the one wanted.
jobs_for() {
  local wanted=$1 allowed=$(($2 / job_mib))
  echo $((allowed < 1 ? 1 : allowed < wanted ? allowed : wanted))
}

# Says once in a checkout that memory is not enough for every job: say_jobs <name> <wanted> <MiB>. What was
# said stands in build/.jobs.
say_jobs() {
  local jobs text
  jobs=$(jobs_for "$2" "$3")
  text="$jobs of $2 jobs at a time"
  if ((jobs == $2)) || [[ $(cat build/.jobs 2>/dev/null) == "$text" ]]; then return; fi
  echo "[$1] $3 MiB of memory are enough for $text"
  mkdir -p build
  echo "$text" >build/.jobs
}

check_memory() {
  (($1 >= job_mib)) && return
  echo "not enough memory: compiling takes $job_mib MiB, and $1 MiB are available" \
    "(a wheel needs no compiler: make demo PREBUILT=1)"
  return 1
}

# Whether a target (all, if none is named) was built in a folder: was_built <folder> <target>.
# tools/build_progress.py writes these.
was_built() { [[ -e $1/.built-$2 || -e $1/.built-all ]]; }

# The room that is still to be there when .venv and a build are to take so much: disk_needed <MiB> <build>.
disk_needed() {
  local there left
  there=$(du -skc .venv "$2" 2>/dev/null | tail -1 | cut -f1) || true
  left=$(($1 - ${there:-0} / 1024))
  echo $((left > spare_disk_mib ? left : spare_disk_mib))
}

# Whether there is room in a folder: check_disk <folder> <MiB>.
check_disk() {
  local free
  free=$(df -Pk "$1" 2>/dev/null | { read -r _ && read -r _ _ _ free _ && echo $((free / 1024)); }) || return 0
  ((free >= $2)) && return
  echo "the disk is full: $1 needs $2 MiB, and $free MiB are free"
  return 1
}
