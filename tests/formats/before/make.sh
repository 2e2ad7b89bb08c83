#!/bin/sh
# How the files here were made, by skipstack 0.1.0:  sh make.sh SKIPSTACK FOLDER
# SKIPSTACK is the command of the version before, FOLDER a new one, which then holds what lies here.
set -eu
export OMP_NUM_THREADS=1
skipstack=$1; python=$(dirname "$1")/python; sources=$(cd "$(dirname "$0")" && pwd)/sources
mkdir "$2"; cd "$2"
cp -r "$sources" sources
small="search sources/small.yaml --engine serial --device cpu"

study() { # NAME OPTIONS...: a study of its own, and what its report says
  name=$1; shift
  "$skipstack" "$@" --out "$name"
  "$skipstack" report "$name" --format json > "$name.report.json"
}
bundle() { # NAME: the best of a study as a folder and a .zip, evaluated again and asked
  "$skipstack" export "$1" --best 1 --to "$1-best" --device cpu
  "$skipstack" export "$1" --best 1 --to "$1-best.zip" --device cpu
  "$skipstack" verify "$1-best" --data-dir sources --device cpu > "$1.verify.txt"
  "$skipstack" predict "$1-best" sources/sentences.txt --device cpu > "$1.predict.txt" || rm "$1.predict.txt"
}
continued() { # COMMAND NAME OPTIONS...: what the report of a copy says once it went on
  command=$1; name=$2; shift 2
  cp -r "$name" copy
  "$skipstack" "$command" copy "$@" --engine serial --device cpu
  "$skipstack" report copy --format json > "$name.$command.json"
  rm -r copy
}

study asha $small
bundle asha
"$skipstack" rerun asha 0 --device cpu > asha.rerun.txt
continued extend asha --trials 2 --axis model.stack.depth=2
grep -m 5 -E '^(vendor_id|cpu family|model|model name|flags)' /proc/cpuinfo > processor.txt  # numbers are the same, bit for bit, on it

study trees search sources/trees.yaml --engine serial --device cpu
bundle trees
study text search sources/text.yaml --engine serial --device cpu
bundle text

study promotion $small --set search.asha.variant=promotion
continued extend promotion --trials 2

study extended $small --trials 3
"$skipstack" extend extended --trials 2 --seeds 1 --engine serial --device cpu
"$skipstack" report extended --format json > extended.report.json
continued extend extended --trials 1

cp -r asha compacted  # opened for writing by a driver that finds it worth its time
"$python" -c 'from pathlib import Path; from search.ledger.ledger import Ledger
with Ledger(Path("compacted/ledger"), worth_compacting=1): pass'
cp asha.report.json compacted.report.json
continued extend compacted --trials 2 --axis model.stack.depth=2

"$skipstack" $small --out interrupted & driver=$!
until [ "$(cat interrupted/ledger/000002.jsonl 2>/dev/null | wc -l)" -ge 20 ]; do sleep 0.02; done
kill -9 $driver; wait $driver || true
"$skipstack" report interrupted --format json > interrupted.report.json
continued resume interrupted

find . -name mlflow.db -delete; find . -name lock -delete
