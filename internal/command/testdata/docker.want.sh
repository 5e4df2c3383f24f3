docker-run vllm org/tiny
env  HF_TOKEN=hf_example
env  VLLM_USE_V1=1
env  EXTRA=a b
env  PASSED_ON
argv vllm
argv serve
argv --model
argv org/tiny
argv --tensor-parallel-size
argv 2
---
sudo docker run -it --rm --gpus all --ipc=host \
  -v ~/.cache/huggingface:/root/.cache/huggingface -p8000:8000 \
  -e HF_TOKEN=hf_example -e VLLM_USE_V1=1 -e EXTRA='a b' -e PASSED_ON \
  vllm/vllm-openai:v0.11.2 --model org/tiny --tensor-parallel-size 2 \
  > server.log 2>&1
===
