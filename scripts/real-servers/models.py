"""Makes the broken copies of SmolLM2-135M-Instruct that the real servers are started with.

    python models.py gguf GOOD.gguf FOLDER     llama-server's copies (needs the package gguf)
    python models.py convert GOOD.gguf FOLDER  the same weights as safetensors (needs transformers, gguf, accelerate)
    python models.py hf GOOD_FOLDER FOLDER     vLLM's and SGLang's copies

Every copy differs from the good one in the one thing that its name says.
"""
import json
import os
import shutil
import struct
import sys

HEADS, KV_HEADS, HEAD = 9, 3, 64
NAN_LAYER = 14  # of 30: the layers before it are sound


def swap_halves(rows, heads, to_pairs):
    """Rows of a query or key projection in the order of the other rotary layout.

    to_pairs: from the halves of Hugging Face (x[i] turns with x[i + HEAD/2]) to the
    neighbours of GGUF (x[2i] turns with x[2i + 1]); else back.
    """
    assert len(rows) == heads * HEAD
    half = HEAD // 2
    out = []
    for h in range(heads):
        head = rows[h * HEAD : (h + 1) * HEAD]
        if to_pairs:
            out += [head[i % 2 * half + i // 2] for i in range(HEAD)]
        else:
            out += [head[i % half * 2 + i // half] for i in range(HEAD)]
    return out


def gguf_copies(good, folder):
    import gguf

    def edited(name, edit):
        path = os.path.join(folder, name + ".gguf")
        shutil.copyfile(good, path)
        reader = gguf.GGUFReader(path, "r+")
        edit(reader, {t.name: t.data for t in reader.tensors})
        reader.data.flush()

    def nan(reader, tensors):
        tensors[f"blk.{NAN_LAYER}.attn_norm.weight"][0] = float("nan")

    def rows(reader, tensors):
        for name, data in tensors.items():
            for part, heads in (("attn_q", HEADS), ("attn_k", KV_HEADS)):
                if name.endswith(part + ".weight"):
                    data[:] = swap_halves(list(data.copy()), heads, to_pairs=False)

    def theta(reader, tensors):
        reader.get_field("llama.rope.freq_base").parts[-1][0] = 100.0

    os.makedirs(folder, exist_ok=True)
    shutil.copyfile(good, os.path.join(folder, "good.gguf"))
    edited("nan", nan)
    edited("rope-rows", rows)
    edited("rope-theta", theta)
    # A template that never names the user's message; llama-server takes it with --chat-template-file.
    with open(os.path.join(folder, "template-drops.jinja"), "w") as f:
        f.write(DROPS)


def convert(good, folder):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    where = {"gguf_file": os.path.basename(good)}
    model = AutoModelForCausalLM.from_pretrained(
        os.path.dirname(good), dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True), **where
    )
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(os.path.dirname(good), **where).save_pretrained(folder)


DROPS = (
    "{% for message in messages %}{% if message['role'] == 'system' %}<|im_start|>system\n"
    "{{ message['content'] }}<|im_end|>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
RAISES = "{{ raise_exception('this template takes no conversation') }}"


def hf_copies(good, folder):
    weights = "model.safetensors"

    def copy(name):
        path = os.path.join(folder, name)
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        for entry in os.listdir(good):
            if entry != weights:
                shutil.copyfile(os.path.join(good, entry), os.path.join(path, entry))
        os.link(os.path.join(good, weights), os.path.join(path, weights))
        return path

    def own_weights(path):
        """Opens a copy's weights to be changed: (file, header, start of the data)."""
        os.remove(os.path.join(path, weights))
        shutil.copyfile(os.path.join(good, weights), os.path.join(path, weights))
        file = open(os.path.join(path, weights), "r+b")
        (size,) = struct.unpack("<Q", file.read(8))
        return file, json.loads(file.read(size)), 8 + size

    def change_json(path, name, **keys):
        path = os.path.join(path, name)
        old = json.load(open(path)) if os.path.exists(path) else {}
        old.update(keys)
        with open(path, "w") as f:
            json.dump(old, f, indent=2)

    os.makedirs(folder, exist_ok=True)

    file, header, start = own_weights(copy("nan"))
    tensor = header[f"model.layers.{NAN_LAYER}.input_layernorm.weight"]
    assert tensor["dtype"] == "BF16"
    file.seek(start + tensor["data_offsets"][0])
    file.write(b"\xc0\x7f")
    file.close()

    file, header, start = own_weights(copy("rope-rows"))
    for name, tensor in header.items():
        for part, heads in (("q_proj", HEADS), ("k_proj", KV_HEADS)):
            if name.endswith(part + ".weight"):
                begin, end = tensor["data_offsets"]
                row = (end - begin) // tensor["shape"][0]
                file.seek(start + begin)
                data = file.read(end - begin)
                swapped = swap_halves([data[i : i + row] for i in range(0, len(data), row)], heads, to_pairs=True)
                file.seek(start + begin)
                file.write(b"".join(swapped))
    file.close()

    path = copy("rope-theta")
    config = json.load(open(os.path.join(path, "config.json")))
    if "rope_theta" in config:
        config["rope_theta"] = 100.0
    else:
        config["rope_parameters"]["rope_theta"] = 100.0
    change_json(path, "config.json", **config)

    for name, template in (("template-drops", DROPS), ("template-raises", RAISES)):
        with open(os.path.join(copy(name), "chat_template.jinja"), "w") as f:
            f.write(template)

    change_json(copy("hot"), "generation_config.json", temperature=6.0, do_sample=True)


if __name__ == "__main__":
    {"gguf": gguf_copies, "convert": convert, "hf": hf_copies}[sys.argv[1]](*sys.argv[2:])
