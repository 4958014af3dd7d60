"""Tiny real image models: ONNX graphs with image and text towers in one space.

The image tower uses the mean colour, and the text tower a table of colour words. `red` finds the red
image.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

DIMENSIONS = 8
SIDE = 24
MEAN, STD = [0.48, 0.46, 0.41], [0.27, 0.26, 0.28]
COLOURS = {
    "red": (0.8, 0.1, 0.1), "green": (0.1, 0.7, 0.1), "blue": (0.1, 0.1, 0.9), "yellow": (0.9, 0.9, 0.1),
    "grey": (0.5, 0.5, 0.5),
}  # fmt: skip
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = [*SPECIAL, *COLOURS, "a", "boat", "search", "_", "query", ":", "warm", "up"]
PREPROCESSOR: dict[str, Any] = {
    "do_resize": True, "size": {"shortest_edge": SIDE}, "do_center_crop": True,
    "crop_size": {"height": SIDE, "width": SIDE}, "resample": 3, "do_rescale": True,
    "rescale_factor": 1 / 255, "do_normalize": True, "image_mean": MEAN, "image_std": STD,
    "do_convert_rgb": True, "image_processor_type": "CLIPImageProcessor",
}  # fmt: skip
_FAINT = 0.02
"""Return a colour. If a word has none, use grey."""
_PROJECTION = np.random.default_rng(5).normal(size=(3, DIMENSIONS)).astype(np.float32)


def write_model(folder: Path, *, text: bool = True, states: bool = False, half: bool = False) -> Path:
    """Write a model.

    Args:
        folder: Target folder.
        text: Write a text tower.
        states: Return a vector per part and token, as towers without pooling do.
        half: Use 16-bit numbers.
    """
    folder.mkdir(parents=True)
    _save(_picture_tower(states=states, half=half), folder / "vision_model.onnx")
    (folder / "preprocessor_config.json").write_text(json.dumps(PREPROCESSOR), encoding="utf-8")
    if text:
        _save(_text_tower(states=states), folder / "text_model.onnx")
        _tokenizer().save(str(folder / "tokenizer.json"))
        (folder / "tokenizer_config.json").write_text('{"model_max_length": 16}', encoding="utf-8")
    return folder


def _picture_tower(*, states: bool, half: bool) -> onnx.ModelProto:
    kind = TensorProto.FLOAT16 if half else TensorProto.FLOAT
    axes = _constant("axes", np.array([2, 3], dtype=np.int64))
    std, mean = (_constant(name, _row(values)) for name, values in (("std", STD), ("mean", MEAN)))
    nodes = [
        helper.make_node("Cast", ["pixel_values"], ["values"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["values", "axes"], ["normal"], keepdims=0),
        helper.make_node("Mul", ["normal", "std"], ["scaled"]),
        helper.make_node("Add", ["scaled", "mean"], ["colour"]),
        helper.make_node("MatMul", ["colour", "projection"], ["image_embeds"]),
    ]
    given = helper.make_tensor_value_info("pixel_values", kind, ["batch", 3, "height", "width"])
    return _model(nodes, [given], [axes, std, mean], "image_embeds", states=states)


def _text_tower(*, states: bool) -> onnx.ModelProto:
    table = np.zeros((len(WORDS), 3), dtype=np.float32)
    table[len(SPECIAL) :] = _FAINT
    for word, colour in COLOURS.items():
        table[WORDS.index(word)] = colour
    one = _constant("one", np.array([1], dtype=np.int64))
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["colours"]),
        helper.make_node("ReduceSum", ["colours", "one"], ["colour"], keepdims=0),
        helper.make_node("MatMul", ["colours" if states else "colour", "projection"], ["text_embeds"]),
    ]
    given = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])
    return _model(nodes, [given], [_constant("table", table), one], "text_embeds", states=states)


def _model(
    nodes: list[Any], given: list[Any], constants: list[Any], output: str, *, states: bool
) -> onnx.ModelProto:
    """With `states`, the vector is the first of two, as in a transformer."""
    gives, shape = output, ["batch", DIMENSIONS]
    if states:
        gives, shape = "last_hidden_state", ["batch", "parts", DIMENSIONS]
        nodes.append(_as_states(output))
        constants.append(_constant("one_axis", np.array([1], dtype=np.int64)))
    result = helper.make_tensor_value_info(gives, TensorProto.FLOAT, shape)
    projection = _constant("projection", _PROJECTION)
    graph = helper.make_graph(nodes, "tower", given, [result], [*constants, projection])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def _as_states(output: str) -> Any:
    if output == "image_embeds":
        return helper.make_node("Unsqueeze", [output, "one_axis"], ["last_hidden_state"])
    return helper.make_node("Identity", [output], ["last_hidden_state"])


def _constant(name: str, values: Any) -> Any:
    return numpy_helper.from_array(values, name)


def _row(values: list[float]) -> Any:
    return np.array([values], dtype=np.float32)


def _save(model: onnx.ModelProto, path: Path) -> None:
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def _tokenizer() -> Tokenizer:
    made = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    special = [("[CLS]", WORDS.index("[CLS]")), ("[SEP]", WORDS.index("[SEP]"))]
    made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=special)
    return made
