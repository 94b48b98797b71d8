"""Turns a quantised GGUF file into the bfloat16 safetensors folder that vLLM serves.

A script for an engine's own Python (`python -I convert_target.py FOLDER FILE OUTPUT`): transformers and torch are
there and not in the app. Prints `step N of M WORDS` before each step. Verifies and publishes nothing itself.
"""

import importlib
import sys
from pathlib import Path

STEPS = ("loading the converter", "reading the tokenizer", "reading the weights", "writing the weights")


def convert(folder: Path, name: str, output: Path) -> None:
    """Read `folder/name` and write model, tokenizer and chat template into `output`."""
    _step(0)
    torch = importlib.import_module("torch")
    transformers = importlib.import_module("transformers")
    _step(1)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=name)
    _step(2)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.bfloat16)
    # transformers refuses to save what it believes to be quantised, and these weights no longer are.
    model.is_quantized = False
    model.hf_quantizer = None
    if hasattr(model, "quantization_method"):
        model.quantization_method = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    _step(3)
    model.to(torch.bfloat16).save_pretrained(output)
    tokenizer.save_pretrained(output)


def _step(index: int) -> None:
    sys.stdout.write(f"step {index + 1} of {len(STEPS)} {STEPS[index]}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    convert(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
