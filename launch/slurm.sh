#!/bin/bash
# A training on several machines under Slurm, one worker on each: sbatch --nodes=2 slurm.sh --config F.yaml --output RUN
# RUN and the text are on a shared file system. Before the time limit Slurm sends SIGTERM: the training is saved and the job
# is queued again.
#SBATCH --job-name=rnnsearch
#SBATCH --ntasks-per-node=1
#SBATCH --signal=TERM@120
#SBATCH --requeue

hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed 's/$/:2222/' | paste -sd, -)

srun --kill-on-bad-exit=0 bash -c 'exec rnnsearch launch --hosts "$0" --index "$SLURM_PROCID" -- train "$@" --resume' "$hosts" "$@"
code=$?

[ $code -eq 75 ] && scontrol requeue "$SLURM_JOB_ID"
exit $code
