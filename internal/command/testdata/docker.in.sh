#!/bin/bash
export HF_TOKEN=hf_example
sudo docker run -it --rm --gpus all --ipc=host \
  -v ~/.cache/huggingface:/root/.cache/huggingface -p8000:8000 \
  -e HF_TOKEN --env VLLM_USE_V1=1 -e "EXTRA=a b" -e PASSED_ON \
  vllm/vllm-openai:v0.11.2 \
  --model org/tiny --tensor-parallel-size 2 > server.log 2>&1
