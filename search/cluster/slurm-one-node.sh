#!/bin/bash
# A study on one machine of a Slurm cluster, on the CPUs and GPUs that the job has there; the study starts its own Ray.
#     sbatch --partition cpu slurm-one-node.sh runs/study flagship --trials 500
#     sbatch --partition gpu --gpus-per-node 1 slurm-one-node.sh runs/study flagship --trials 500
# Arguments, resuming, the environment and the end of Slurm's time are those of slurm.sh.
#SBATCH --job-name=skipstack
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=08:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@120

set -u
folder=$1
shift

if [ -n "${SKIPSTACK_ENV:-}" ]; then
    source "$SKIPSTACK_ENV/bin/activate"
fi
if ! command -v skipstack > /dev/null; then
    echo "slurm-one-node.sh: no skipstack on the PATH (allowed: submit from its environment, or name it: SKIPSTACK_ENV)" >&2
    exit 2
fi

if [ -d "$folder/ledger" ]; then
    skipstack resume "$folder" --address local &
else
    skipstack search "$@" --out "$folder" &
fi
study=$!

trap 'kill -TERM "$study"' TERM
for _ in 1 2 3; do
    wait "$study"
    code=$?
    [ "$code" -eq 143 ] || break
done

if [ "$code" -eq 130 ]; then
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
