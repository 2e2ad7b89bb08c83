#!/bin/bash
# A study on machines of a Slurm cluster:  sbatch --nodes 3 slurm.sh runs/study flagship --trials 500
# The first argument is the study's folder, on a disk that all machines share; the rest is what `skipstack search` takes.
# A folder that holds a study already is resumed. Before Slurm's time is over the study is interrupted in order and the
# job queued again, so that a study may be longer than any job.
#SBATCH --job-name=skipstack
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=08:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@120
# Machines with GPUs: #SBATCH --gpus-per-task=1, and --gpus-per-trial auto below.

set -u
folder=$1
shift
port=${RAY_PORT:-6379}
cpus=${SLURM_CPUS_PER_TASK:-1}

# Ray takes connections from those alone who know this token; Slurm hands the environment to every machine.
export RAY_AUTH_MODE=token
export RAY_AUTH_TOKEN=${RAY_AUTH_TOKEN:-$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')}

head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
address=$(srun --nodes=1 --ntasks=1 --nodelist="$head" hostname -I | awk '{print $1}')

srun --nodes=1 --ntasks=1 --nodelist="$head" --overlap \
    ray start --head --block --node-ip-address="$address" --port="$port" --num-cpus="$cpus" &
sleep "${HEAD_SECONDS:-20}"
if [ "$SLURM_JOB_NUM_NODES" -gt 1 ]; then
    srun --nodes=$((SLURM_JOB_NUM_NODES - 1)) --ntasks=$((SLURM_JOB_NUM_NODES - 1)) --exclude="$head" \
        ray start --block --address="$address:$port" --num-cpus="$cpus" &
fi

if [ -d "$folder/ledger" ]; then
    skipstack resume "$folder" --address "$address:$port" &
else
    skipstack search "$@" --out "$folder" --address "$address:$port" &
fi
study=$!

# The shell gets Slurm's signal, and a wait ends with it (143): the study is told, and waited for again.
trap 'kill -TERM "$study"' TERM
for _ in first told again; do
    wait "$study"
    code=$?
    [ "$code" -eq 143 ] || break
done

if [ "$code" -eq 130 ]; then
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
