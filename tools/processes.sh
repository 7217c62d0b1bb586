# Sourced by tools/setup.sh and tools/build.sh: one of them at a time in a checkout, and nothing runs on
# when they are ended.

# Waits while another set-up or build of this checkout runs: one_at_a_time <name for what it says>. What
# these start holds the lock as well, so that what a killed one has left running is waited for, too. The
# lock is on the folder: there is no file that could be removed. Where there are no such locks, it goes on.
one_at_a_time() {
  local status=0
  command -v flock >/dev/null || return 0
  exec 9<.
  flock -n 9 2>/dev/null || status=$?
  if ((status == 1)); then
    echo "[$1] another set-up or build of this checkout is running; waiting for it to end"
    flock 9
  fi
}

# Starts a command in a process group of its own, $child, which ends as a whole when the script is
# ended. To be followed by `wait_for_group`.
start_group() {
  local number
  for number in 1 2 3 15; do # HUP, INT, QUIT, TERM
    trap "end_groups $number" "$number"
  done
  set -m
  "$@" </dev/null &
  child=$!
  set +m
}
wait_for_group() {
  local status=0
  wait "$child" || status=$?
  trap - 1 2 3 15
  return "$status"
}
end_groups() {
  local group
  trap '' 1 2 3 15
  for group in $(jobs -p); do
    kill -- "-$group" 2>/dev/null || true
    wait "$group" 2>/dev/null || true
  done
  exit $((128 + $1))
}
