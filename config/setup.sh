#!/usr/bin/env bash
# Puts in place what streamops needs on this machine. `make setup` runs it; running it again costs well under a second.
#
#   Python 3.11+, Java 17 or 21, Maven   found; as root on Debian installed when missing
#   .tools                               a small venv that holds uv, pinned
#   .venv                                every package of requirements-dev.lock, checked by hash, streamops and its sandbox (editable)
#   .jars/spark, .jars/broker            the jars of config/pom.xml
#   .jars/spark.jsa                      the classes of Spark as the JVM keeps them once loaded: drivers start in half the time
#   .jars/postgres                       initdb and postgres out of the archive of config/pom.xml, on Linux with amd64 or arm64;
#                                        elsewhere the machine's own, as root on Debian installed when missing
#
# .venv and .jars each carry a stamp of what they were made from, removed before work on them begins and written once it
# has succeeded. So an interrupted run leaves no stamp, and the next one makes that part anew.
#
# Mirrors: pip's, uv's and Maven's own settings hold. An index set for pip alone is handed on to uv, which does not read
# pip's settings. STREAMOPS_PYTHON names another interpreter than the first one found.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly ROOT=$PWD
readonly UV_VERSION=0.13.9
readonly VENV_STAMP=.venv/.streamops-stamp
readonly JARS_STAMP=.jars/.streamops-stamp
readonly ARCHIVE=.jars/spark.jsa
readonly ARCHIVE_STAMP=.jars/.spark-archive-stamp

say() { printf 'setup: %s\n' "$*"; }

fail() {
  printf 'setup: %s\n' "$@" >&2
  exit 1
}

# --- Debian packages ----------------------------------------------------------

APT_LISTS_ARE_FRESH=no

can_install_packages() { command -v apt-get >/dev/null && [[ $(id -u) == 0 ]]; }

refresh_apt_lists_once() {
  [[ $APT_LISTS_ARE_FRESH == yes ]] && return
  apt-get update -qq || say "apt-get update failed; going on with the package lists at hand"
  APT_LISTS_ARE_FRESH=yes
}

apt_knows() { apt-cache show "$1" >/dev/null 2>&1; }

# What is missing, and the packages that bring it, the preferred one first: Debian releases differ in what they carry.
install_first_known_package() {
  local what=$1 package
  shift
  if ! can_install_packages; then
    fail "$what is missing." \
      "On Debian or Ubuntu: sudo apt-get install $1   (elsewhere: your system's package), then run 'make setup' again."
  fi
  say "$what is missing: installing a Debian package for it (about a minute)"
  refresh_apt_lists_once
  for package in "$@"; do
    if apt_knows "$package"; then
      DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$package" >/dev/null
      return
    fi
  done
  fail "$what is missing, and this Debian release has none of: $*."
}

# --- Python, Java, Maven ------------------------------------------------------

PYTHON=
PYTHON_VERSION=

# Prints "<base interpreter> <version>" when $1 is Python 3.11 or newer and can make a venv with pip in it.
describe_python() {
  "$1" -c '
import ensurepip, sys, venv
if sys.version_info >= (3, 11):
    print(getattr(sys, "_base_executable", sys.executable), "%d.%d.%d" % sys.version_info[:3])
' 2>/dev/null || true
}

# The venv's own interpreter comes before those on the PATH, so that a second run stays with the first run's choice.
find_python() {
  local candidate described
  for candidate in ${STREAMOPS_PYTHON:-.venv/bin/python python3.11 python3.12 python3.13 python3}; do
    command -v "$candidate" >/dev/null || continue
    described=$(describe_python "$candidate")
    if [[ -n $described ]]; then
      PYTHON=${described% *}
      PYTHON_VERSION=${described##* }
      return 0
    fi
  done
  return 1
}

require_python() {
  find_python && return
  [[ -z ${STREAMOPS_PYTHON:-} ]] ||
    fail "STREAMOPS_PYTHON=$STREAMOPS_PYTHON is no Python 3.11 or newer with venv and ensurepip."
  install_first_known_package "Python 3.11 or newer with its venv module" python3-venv
  find_python || fail "python3-venv is installed, but python3 here is older than 3.11." \
    "Install a newer Python and name it: STREAMOPS_PYTHON=/path/to/python3.11 make setup"
}

JAVA_VERSION=
JAVA_DESCRIBED=

# The same choice as Spark's own scripts: JAVA_HOME when it is set, else the PATH.
java_command() { if [[ -n ${JAVA_HOME:-} ]]; then echo "$JAVA_HOME/bin/java"; else echo java; fi; }

# `java -version` may print "Picked up JAVA_TOOL_OPTIONS" first, and 8 calls itself 1.8.
find_java() {
  JAVA_DESCRIBED=$("$(java_command)" -version 2>&1) || JAVA_DESCRIBED=
  [[ $JAVA_DESCRIBED =~ version\ \"([0-9]+) ]] && JAVA_VERSION=${BASH_REMATCH[1]} || JAVA_VERSION=none
  [[ $JAVA_VERSION == 17 || $JAVA_VERSION == 21 ]]
}

require_java() {
  find_java && return
  local found
  found="Java 17 or 21 (found: $JAVA_VERSION, by $(java_command))"
  [[ -z ${JAVA_HOME:-} ]] || fail "$found is missing." \
    "Let JAVA_HOME point at a JDK 17 or 21 (Debian: openjdk-17-jdk-headless), or unset it to take the one on the PATH."
  install_first_known_package "$found" openjdk-17-jdk-headless openjdk-21-jdk-headless
  find_java || fail "a JDK is installed, but $(java_command) is still version $JAVA_VERSION: set JAVA_HOME to the new one."
}

require_maven() {
  command -v mvn >/dev/null || install_first_known_package "Maven (mvn)" maven
}

# --- stamps -------------------------------------------------------------------

hash_of() { if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }

# A venv is bound to its interpreter and to its folder: either changed means a new one, not a repair.
venv_identity() { printf 'python=%s\nroot=%s\n' "$PYTHON_VERSION" "$ROOT"; }

wanted_venv_stamp() {
  venv_identity
  hash_of requirements-dev.lock pyproject.toml tests/system/pyproject.toml
}

wanted_jars_stamp() { hash_of config/pom.xml; }

# An archive fits the very Java and the very jars that it was made with.
wanted_archive_stamp() {
  printf '%s\n' "$JAVA_DESCRIBED"
  wanted_venv_stamp
  hash_of config/class_archive.py
}

stamp_of() { cat "$1" 2>/dev/null || true; }

# A rename, so that a stamp is there in full or not at all.
write_stamp() {
  printf '%s\n' "$2" >"$1.new"
  mv -f "$1.new" "$1"
}

tools_are_in_place() { [[ $(.tools/bin/uv --version 2>/dev/null) == "uv $UV_VERSION"* ]]; }

venv_is_in_place() { [[ -x .venv/bin/python && $(stamp_of $VENV_STAMP) == "$(wanted_venv_stamp)" ]]; }

venv_can_be_kept() { [[ -x .venv/bin/python && $(stamp_of $VENV_STAMP) == "$(venv_identity)"$'\n'* ]]; }

jars_are_in_place() { [[ -d .jars/spark && -d .jars/broker && -d .jars/postgres && $(stamp_of $JARS_STAMP) == "$(wanted_jars_stamp)" ]]; }

archive_is_in_place() { [[ $(stamp_of $ARCHIVE_STAMP) == "$(wanted_archive_stamp)" ]]; }

# --- parts --------------------------------------------------------------------

make_tools() {
  say ".tools: installing uv $UV_VERSION (about 10 s)"
  rm -rf .tools
  "$PYTHON" -m venv .tools
  .tools/bin/python -m pip install --quiet --disable-pip-version-check "uv==$UV_VERSION"
}

hand_pip_settings_on_to_uv() {
  local index=${PIP_INDEX_URL:-}
  [[ -n $index ]] || index=$(.tools/bin/python -m pip config get global.index-url 2>/dev/null) || true
  if [[ -n $index && -z ${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-} ]]; then export UV_DEFAULT_INDEX=$index; fi
  if [[ -n ${PIP_CERT:-} && -z ${SSL_CERT_FILE:-} ]]; then export SSL_CERT_FILE=$PIP_CERT; fi
  export UV_HTTP_TIMEOUT=${UV_HTTP_TIMEOUT:-300} # PySpark alone is 450 MB; uv gives up after 30 s by default
}

# A bar on a terminal; in a log nothing, instead of a line for each of two hundred packages.
uv_pip() {
  [[ -t 2 ]] || set -- "$@" --quiet
  .tools/bin/uv pip "$@" --python .venv/bin/python
}

make_venv() {
  local packages kept=no
  packages=$(grep -c '^[a-z0-9].*==' requirements-dev.lock)
  venv_can_be_kept && kept=yes
  rm -f $VENV_STAMP
  hand_pip_settings_on_to_uv
  if [[ $kept == yes ]]; then
    say ".venv: bringing it to the $packages packages of requirements-dev.lock (seconds when little has changed)"
  else
    say ".venv: installing the $packages packages of requirements-dev.lock" \
      "(1 to 2 minutes; the first time on a machine also a download of about 1 GB)"
    .tools/bin/uv venv --quiet --clear --no-python-downloads --python "$PYTHON" .venv
  fi
  uv_pip sync --require-hashes --compile-bytecode requirements-dev.lock
  say ".venv: installing streamops and its sandbox, editable (about 5 s)" # after the sync, which removes what is not in the lock
  uv_pip install --no-deps --editable . --editable tests/system
  write_stamp $VENV_STAMP "$(wanted_venv_stamp)"
}

# Copied beside the old folder and swapped in, so that a torn jar is never on a class path.
copy_jars_of_profile() {
  local profile=$1
  shift
  rm -rf ".jars/$profile.new"
  mvn --quiet --batch-mode --no-transfer-progress --strict-checksums --file config/pom.xml "-P$profile" "$@" \
    dependency:copy-dependencies "-DoutputDirectory=$ROOT/.jars/$profile.new" 2>&1 |
    sed $'s/\e\\[[0-9;]*m//g' # Maven writes colour resets into logs, whatever it is told
  swap_in "$profile"
}

swap_in() {
  rm -rf ".jars/$1"
  mv ".jars/$1.new" ".jars/$1"
}

# The machine's name in the artifacts of embedded-postgres; nothing where there is none that fits.
postgres_platform() {
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) echo linux-amd64 ;;
    Linux-aarch64) echo linux-arm64v8 ;;
  esac
}

machine_has_postgres() { command -v postgres >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null; }

# The folder is there afterwards in any case: empty it says that the machine's own programs are meant.
make_postgres() {
  local platform
  platform=$(postgres_platform)
  if [[ -z $platform ]]; then
    machine_has_postgres || install_first_known_package "PostgreSQL (initdb, postgres)" postgresql
    mkdir -p .jars/postgres
    return
  fi
  copy_jars_of_profile postgres "-Dpostgres.platform=$platform"
  "$PYTHON" -m zipfile -e .jars/postgres/*.jar .jars/postgres
  mkdir -m 755 .jars/postgres.new # for the user who runs the server in the place of root
  "$PYTHON" -m tarfile -e .jars/postgres/*.txz .jars/postgres.new
  swap_in postgres
}

make_jars() {
  require_maven
  mkdir -p .jars
  rm -f $JARS_STAMP
  say ".jars: copying the jars of Spark and of the Kafka broker, and PostgreSQL, with Maven" \
    "(about 30 s; the first time a minute or two)"
  copy_jars_of_profile spark
  copy_jars_of_profile broker
  make_postgres
  write_stamp $JARS_STAMP "$(wanted_jars_stamp)"
}

# Without one everything works, only slower: a Java that can't write it is no reason to stop, nor to try each time.
make_archive() {
  say "$ARCHIVE: keeping the classes that Spark loads, for quick starts of drivers (about 30 s)"
  rm -f $ARCHIVE_STAMP $ARCHIVE
  SPARK_LOCAL_IP=127.0.0.1 PYSPARK_PYTHON=$ROOT/.venv/bin/python .venv/bin/spark-submit --master 'local[1]' --conf spark.ui.enabled=false \
    --conf spark.sql.shuffle.partitions=1 --driver-java-options "-XX:ArchiveClassesAtExit=$ROOT/$ARCHIVE -Xlog:cds*=off" \
    config/class_archive.py >.jars/spark-archive.log 2>&1 || say "no archive could be made, see .jars/spark-archive.log"
  write_stamp $ARCHIVE_STAMP "$(wanted_archive_stamp)"
}

# Two runs at once would undo each other's work: the second waits. The lock is on this file itself and goes with the process.
wait_for_other_runs() {
  command -v flock >/dev/null || return 0
  exec 9<"$ROOT/config/setup.sh"
  flock --nonblock 9 && return
  say "another run is at work; waiting for it"
  flock 9
}

main() {
  local made=nothing
  wait_for_other_runs
  require_python
  require_java
  # No `check || make`: bash does not stop at errors inside a function called in a list.
  if ! tools_are_in_place; then make_tools; made=something; fi
  if ! venv_is_in_place; then make_venv; made=something; fi
  if ! jars_are_in_place; then make_jars; made=something; fi
  if ! archive_is_in_place; then make_archive; made=something; fi
  if [[ $made == nothing ]]; then
    say "all in place (Python $PYTHON_VERSION, Java $JAVA_VERSION, .venv, .jars): nothing to do"
  else
    say "done (Python $PYTHON_VERSION, Java $JAVA_VERSION, .venv, .jars)"
  fi
}

main "$@"
