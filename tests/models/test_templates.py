import json
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from uncensoring_chinese_models.errors import ConfigError, UnknownTemplateError
from uncensoring_chinese_models.models.templates import (
    ChatTemplate,
    _bare_name,
    _matching,
    choose_template,
    inline_template,
    load_families,
    template_named,
)

DEEPSEEK_USER = "<\uff5cbegin\u2581of\u2581sentence\uff5c><\uff5cUser\uff5c>"
KIMI_K2_USER = "<|im_system|>system<|im_middle|><|im_end|>\n<|im_user|>user<|im_middle|>"

KNOWN = [
    ("deepseek/deepseek-chat", "deepseek-v3"),
    ("deepseek/deepseek-chat:free", "deepseek-v3"),
    ("deepseek/deepseek-chat-v3", "deepseek-v3"),
    ("deepseek/deepseek-chat-v3-0324", "deepseek-v3"),
    ("deepseek/deepseek-chat-v3-0324:free", "deepseek-v3"),
    ("deepseek/deepseek-v3-base", "deepseek-v3"),
    ("deepseek-ai/DeepSeek-V3", "deepseek-v3"),
    ("deepseek-ai/DeepSeek-V3-0324", "deepseek-v3"),
    ("deepseek-ai/DeepSeek-V3-0324-Turbo", "deepseek-v3"),
    ("Pro/deepseek-ai/DeepSeek-V3", "deepseek-v3"),
    ("accounts/fireworks/models/deepseek-v3-0324", "deepseek-v3"),
    ("cognitivecomputations/DeepSeek-V3-0324-AWQ", "deepseek-v3"),
    ("unsloth/DeepSeek-V3-0324-GGUF:UD-Q2_K_XL", "deepseek-v3"),
    ("models/DeepSeek-V3-0324-UD-IQ2_XXS-00001-of-00005.gguf", "deepseek-v3"),
    ("deepseek-v3:671b", "deepseek-v3"),
    ("deepseek-ai/DeepSeek-V2-Lite-Chat", "deepseek-v2"),
    ("deepseek-ai/DeepSeek-V2-Chat-0628", "deepseek-v2"),
    ("deepseek/deepseek-r1", "deepseek-r1"),
    ("deepseek/deepseek-r1:free", "deepseek-r1"),
    ("deepseek-ai/DeepSeek-R1", "deepseek-r1"),
    ("deepseek-ai/DeepSeek-R1-Turbo", "deepseek-r1"),
    ("deepseek-r1:671b", "deepseek-r1"),
    ("deepseek/deepseek-chat-v3.1", "deepseek-v3.1"),
    ("deepseek/deepseek-chat-v3.1:free", "deepseek-v3.1"),
    ("deepseek-ai/DeepSeek-V3.1", "deepseek-v3.1"),
    ("accounts/fireworks/models/deepseek-v3p1", "deepseek-v3.1"),
    ("deepseek/deepseek-v3.2", "deepseek-v3.2"),
    ("deepseek-ai/DeepSeek-V3.2-NVFP4", "deepseek-v3.2"),
    ("deepseek/deepseek-v4-flash", "deepseek-v4"),
    ("deepseek/deepseek-v4-pro", "deepseek-v4"),
    ("deepseek-ai/DeepSeek-V4-Pro", "deepseek-v4"),
    ("Qwen/Qwen1.5-4B-Chat", "qwen1.5"),
    ("Qwen/Qwen1.5-0.5B-Chat-GPTQ-Int4", "qwen1.5"),
    ("Qwen/Qwen2-7B-Instruct", "qwen2"),
    ("qwen/qwen-2-72b-instruct", "qwen2"),
    ("Qwen/Qwen2-57B-A14B-Instruct", "qwen2"),
    ("qwen2:7b-instruct", "qwen2"),
    ("qwen/qwen-2.5-72b-instruct", "qwen2.5"),
    ("qwen/qwen-2.5-72b-instruct:free", "qwen2.5"),
    ("Qwen/Qwen2.5-72B-Instruct", "qwen2.5"),
    ("Qwen/Qwen2.5-72B-Instruct-AWQ", "qwen2.5"),
    ("Qwen/Qwen2.5-0.5B-Instruct-GPTQ-Int8", "qwen2.5"),
    ("Qwen/Qwen2.5-7B-Instruct-Turbo", "qwen2.5"),
    ("RedHatAI/Qwen2.5-7B-Instruct-quantized.w4a16", "qwen2.5"),
    ("accounts/fireworks/models/qwen2p5-72b-instruct", "qwen2.5"),
    ("mlx-community/Qwen2.5-7B-Instruct-4bit", "qwen2.5"),
    ("qwen2.5-7b-instruct-q4_k_m.gguf", "qwen2.5"),
    ("qwen2.5:72b", "qwen2.5"),
    ("qwen/qwq-32b", "qwq-32b"),
    ("Qwen/QwQ-32B-AWQ", "qwq-32b"),
    ("qwq:32b", "qwq-32b"),
    ("qwen/qwen3-235b-a22b", "qwen3"),
    ("qwen/qwen3-30b-a3b:free", "qwen3"),
    ("Qwen/Qwen3-0.6B", "qwen3"),
    ("Qwen/Qwen3-235B-A22B-FP8", "qwen3"),
    ("Qwen/Qwen3-235B-A22B-fp8-tput", "qwen3"),
    ("unsloth/Qwen3-32B-128K-GGUF", "qwen3"),
    ("bartowski/Qwen_Qwen3-8B-GGUF", "qwen3"),
    ("Qwen_Qwen3-8B-Q4_K_M.gguf", "qwen3"),
    ("qwen-3-32b", "qwen3"),
    ("qwen3:8b", "qwen3"),
    ("qwen/qwen3.5-397b-a17b", "qwen3.5"),
    ("Qwen/Qwen3.5-4B", "qwen3.5"),
    ("moonshotai/kimi-k2", "kimi-k2"),
    ("moonshotai/kimi-k2:free", "kimi-k2"),
    ("kimi-k2-0711-preview", "kimi-k2-0711"),
    ("moonshotai/kimi-k2-0905", "kimi-k2-0905"),
    ("moonshotai/kimi-k2-0905:exacto", "kimi-k2-0905"),
    ("moonshotai/Kimi-K2-Instruct-0905", "kimi-k2-0905"),
    ("unsloth/Kimi-K2-Instruct-0905-GGUF", "kimi-k2-0905"),
    ("moonshotai/kimi-k2-thinking", "kimi-k2-thinking"),
    ("moonshotai/Kimi-K2-Thinking", "kimi-k2-thinking"),
    ("moonshotai/kimi-k3", "kimi-k3"),
    ("THUDM/glm-4-9b-chat", "glm-4-9b"),
    ("THUDM/glm-4-9b-chat-hf", "glm-4-9b"),
    ("z-ai/glm-4.6", "glm-4.6"),
    ("z-ai/glm-4.6:exacto", "glm-4.6"),
    ("zai-org/GLM-4.6", "glm-4.6"),
    ("zai-org/GLM-4.6-FP8", "glm-4.6"),
    ("accounts/fireworks/models/glm-4p6", "glm-4.6"),
    ("z-ai/glm-4.7-flash", "glm-4.7-flash"),
    ("z-ai/glm-5.1", "glm-5.1"),
    ("zai-org/GLM-5.1-FP8", "glm-5.1"),
    ("minimax/minimax-01", "minimax-text-01"),
    ("MiniMaxAI/MiniMax-Text-01-hf", "minimax-text-01"),
    ("minimax/minimax-m1", "minimax-m1"),
    ("MiniMaxAI/MiniMax-M1-80k", "minimax-m1"),
    ("minimax/minimax-m2", "minimax-m2"),
    ("MiniMaxAI/MiniMax-M2", "minimax-m2"),
    ("minimax/minimax-m3", "minimax-m3"),
    ("baidu/ernie-4.5-300b-a47b", "ernie-4.5"),
    ("baidu/ERNIE-4.5-21B-A3B-PT", "ernie-4.5"),
    ("tencent/hunyuan-a13b-instruct", "hunyuan-a13b"),
    ("tencent/Hunyuan-A13B-Instruct-FP8", "hunyuan-a13b"),
    ("tencent/Hunyuan-7B-Instruct", "hunyuan-dense"),
    ("tencent/hy3", "hy3"),
    ("01-ai/Yi-1.5-34B-Chat", "yi-1.5"),
    ("internlm/internlm2-chat-7b", "internlm2"),
    ("internlm/internlm2-chat-1_8b", "internlm2"),
    ("internlm/internlm3-8b-instruct", "internlm3"),
    ("stepfun/step-3.5-flash", "step-3.5-flash"),
    ("stepfun-ai/step3", "step-3"),
    ("stepfun-ai/step3-fp8", "step-3"),
    ("ByteDance-Seed/Seed-OSS-36B-Instruct", "seed-oss"),
    ("XiaomiMiMo/MiMo-VL-7B-RL", "mimo-vl"),
    ("xiaomi/mimo-v2-flash:free", "mimo-v2"),
    ("inclusionAI/Ling-lite", "ling-lite"),
    ("inclusionAI/Ling-flash-2.0", "ling-2.0"),
    ("inclusionAI/Ring-lite", "ring"),
    ("FreedomIntelligence/openPangu-Embedded-7B", "pangu-embedded"),
    ("Tele-AI/TeleChat2-35B", "telechat2"),
    ("baichuan-inc/Baichuan2-13B-Chat", "baichuan2"),
    ("Skywork/Skywork-13B-Chat", "skywork-13b"),
    ("meituan-longcat/LongCat-Flash-Chat-FP8", "longcat-flash"),
    ("meta-llama/llama-3-70b-instruct", "llama-3"),
    ("meta-llama/Meta-Llama-3-8B-Instruct", "llama-3"),
    ("llama3:8b", "llama-3"),
    ("meta-llama/llama-3.3-70b-instruct:free", "llama-3.1/3.3"),
    ("meta-llama/Meta-Llama-3.1-405B-Instruct-FP8", "llama-3.1/3.3"),
    ("meta-llama/Llama-3.3-70B-Instruct-Turbo", "llama-3.1/3.3"),
    ("accounts/fireworks/models/llama-v3p3-70b-instruct", "llama-3.1/3.3"),
    ("llama3.1:8b-instruct-q4_K_M", "llama-3.1/3.3"),
    ("meta-llama/llama-4-maverick", "llama-4"),
    ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama-4"),
    ("google/gemma-2-27b-it", "gemma-2"),
    ("gemma2:9b", "gemma-2"),
    ("google/gemma-3-27b-it:free", "gemma-3"),
    ("google/gemma-3-27b-it-qat-q4_0-gguf", "gemma-3"),
    ("google/gemma-3-270m-it", "gemma-3"),
    ("gemma3:27b", "gemma-3"),
    ("google/gemma-4-31b-it", "gemma-4"),
    ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"),
    ("mistralai/mistral-nemo", "mistral-nemo"),
    ("mistralai/Mistral-Nemo-Instruct-2407", "mistral-nemo"),
    ("mistralai/mistral-small-3.2-24b-instruct", "mistral-small-3.2"),
    ("openai/gpt-oss-120b", "gpt-oss"),
    ("gpt-oss:20b", "gpt-oss"),
    ("HuggingFaceTB/SmolLM2-1.7B-Instruct", "smollm2"),
    ("SmolLM2-135M-Instruct.Q4_1.gguf", "smollm2"),
]
ASSUMED = [
    ("deepseek-ai/DeepSeek-Coder-V2-Instruct", "deepseek-v2"),
    ("deepseek-ai/DeepSeek-V2.5", "deepseek-v3"),
    ("deepseek-ai/DeepSeek-V2.5-1210", "deepseek-v3"),
    ("deepseek/deepseek-chat-v2.5", "deepseek-v3"),
    ("deepseek/deepseek-r1-0528", "deepseek-r1"),
    ("deepseek/deepseek-r1-0528:free", "deepseek-r1"),
    ("deepseek/deepseek-r1-zero:free", "deepseek-r1"),
    ("deepseek/deepseek-r1-0528-qwen3-8b", "deepseek-r1"),
    ("deepseek/deepseek-r1-distill-llama-70b", "deepseek-r1"),
    ("deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "deepseek-r1"),
    ("unsloth/DeepSeek-R1-Distill-Qwen-32B-bnb-4bit", "deepseek-r1"),
    ("deepseek/deepseek-v3.1-terminus", "deepseek-v3.1"),
    ("deepseek/deepseek-v3.1-terminus:exacto", "deepseek-v3.1"),
    ("deepseek/deepseek-v3.2-exp", "deepseek-v3.2"),
    ("deepseek-ai/DeepSeek-V3.2-Speciale", "deepseek-v3.2"),
    ("qwen/qwen2.5-vl-72b-instruct", "qwen2"),
    ("qwen/qwen-2.5-coder-32b-instruct", "qwen2.5"),
    ("Qwen/Qwen2.5-14B-Instruct-1M", "qwen2.5"),
    ("qwen/qwen3-235b-a22b-2507", "qwen3-instruct-2507"),
    ("Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", "qwen3-instruct-2507"),
    ("qwen/qwen3-next-80b-a3b-instruct", "qwen3-instruct-2507"),
    ("qwen/qwen3-coder:free", "qwen3-instruct-2507"),
    ("Qwen/Qwen3-VL-8B-Instruct", "qwen3-instruct-2507"),
    ("qwen/qwen3-235b-a22b-thinking-2507", "qwq-32b"),
    ("Qwen/Qwen3-4B-Thinking-2507", "qwq-32b"),
    ("qwen/qwen3-next-80b-a3b-thinking", "qwq-32b"),
    ("Qwen/Qwen3.6-35B-A3B", "qwen3.5"),
    ("moonshotai/Kimi-K2-Instruct", "kimi-k2-instruct-late2025"),
    ("unsloth/Kimi-K2-Instruct-GGUF:UD-TQ1_0", "kimi-k2-instruct-late2025"),
    ("THUDM/glm-4-9b-chat-1m", "glm-4-9b"),
    ("THUDM/GLM-4-32B-0414", "glm-4-9b"),
    ("z-ai/glm-4-32b", "glm-4-9b"),
    ("z-ai/glm-4.5", "glm-4.6"),
    ("zai-org/GLM-4.5-Air-FP8", "glm-4.6"),
    ("z-ai/glm-4.7", "glm-4.7-flash"),
    ("z-ai/glm-5", "glm-5.1"),
    ("baidu/ernie-4.5-vl-424b-a47b", "ernie-4.5"),
    ("01-ai/Yi-1.5-34B-Chat-16K", "yi-1.5"),
    ("internlm/internlm2_5-7b-chat", "internlm2"),
    ("stepfun/step-3.7-flash", "step-3.5-flash"),
    ("XiaomiMiMo/MiMo-VL-7B-RL-2508", "mimo-vl"),
    ("inclusionAI/Ling-plus", "ling-lite"),
    ("inclusionAI/Ling-lite-1.5-2507", "ling-lite"),
    ("inclusionai/ling-1t", "ling-2.0"),
    ("inclusionAI/Ring-lite-2507", "ring"),
    ("google/gemma-4-26b-a4b-it", "gemma-4"),
    ("tencent/Hunyuan-MT-7B-fp8", "hunyuan-dense"),
    ("tencent/HY-MT1.5-1.8B", "hunyuan-dense"),
    ("FreedomIntelligence/openPangu-Embedded-7B-V1.1", "pangu-embedded"),
    ("Tele-AI/TeleChat2-35B-Nov", "telechat2"),
]
UNKNOWN = [
    ("moonshotai/kimi-k2.5", "kimi-k2"),
    ("moonshotai/kimi-k2.6", "kimi-k2"),
    ("moonshotai/kimi-k2.7-code", "kimi-k2"),
    ("moonshotai/Kimi-K2-Base", "kimi-k2"),
    ("~moonshotai/kimi-latest", "kimi-k3"),
    ("deepseek/deepseek-reasoner", "deepseek-r1"),
    ("deepseek-ai/DeepSeek-V3.1-Base", "deepseek-v3.1"),
    ("deepseek-ai/deepseek-llm-67b-chat", "deepseek-v2"),
    ("tngtech/deepseek-r1t2-chimera", "deepseek-r1"),
    ("nex-agi/deepseek-v3.1-nex-n1", "deepseek-v3.1"),
    ("qwen/qwen-max", "qwen2"),
    ("qwen/qwen3-max", "qwen3"),
    ("qwen/qwen3.6-plus", "qwen3"),
    ("qwen/qwen3.7-max", "qwen3"),
    ("Qwen/Qwen2.5-72B", "qwen2.5"),
    ("Qwen/Qwen2.5-Math-72B-Instruct", "qwen2.5"),
    ("Qwen/Qwen3-8B-Base", "qwen3"),
    ("qwen2.5:7b-base", "qwen2.5"),
    ("Qwen/QwQ-32B-Preview", "qwq-32b"),
    ("cognitivecomputations/dolphin-2.9.2-qwen2-72b", "qwen2"),
    ("z-ai/glm-5.2", "glm-5.1"),
    ("z-ai/glm-4.5v", "glm-4.6"),
    ("zai-org/GLM-Z1-32B-0414", "glm-4.6"),
    ("minimax/minimax-m2.1", "minimax-m2"),
    ("minimax/minimax-m2.5", "minimax-m2"),
    ("minimax/minimax-m2.7", "minimax-m2"),
    ("tencent/hy3-preview", "hy3"),
    ("stepfun/step-2-16k", "step-3"),
    ("xiaomi/mimo-v2.5-pro", "mimo-v2"),
    ("inclusionai/ling-2.6-1t", "ling-2.0"),
    ("inclusionai/ring-2.6-1t", "ring"),
    ("baidu/ERNIE-4.5-21B-A3B-Thinking", "ernie-4.5"),
    ("baidu/ERNIE-4.5-0.3B-Base-PT", "ernie-4.5"),
    ("bytedance-seed/seed-2.0-pro", "seed-oss"),
    ("meta-llama/llama-3.2-3b-instruct", "llama-3"),
    ("meta-llama/Llama-3.1-405B", "llama-3.1/3.3"),
    ("openai/gpt-4o", "gpt-oss"),
    ("openai/gpt-oss-safeguard-20b", "gpt-oss"),
    ("mistralai/mistral-7b-instruct-v0.1", "mistral-7b-v0.3"),
    ("teknium/OpenHermes-2.5-Mistral-7B", "audited_endpoint"),
    ("anthropic/claude-sonnet-4", "audited_endpoint"),
    ("chatml", "chatml"),
    ("", "audited_endpoint"),
]
FAMILIES = st.sampled_from(list(load_families().values()))


@pytest.mark.parametrize("model", ["deepseek/deepseek-chat", "deepseek-ai/DeepSeek-V3-0324"])
def test_deepseek_row_of_the_spec(model):
    """The user turn of DeepSeek opens with the spec's string, to the byte."""
    assert choose_template(model).user_open == DEEPSEEK_USER


def test_kimi_k2_row_of_the_spec():
    """The user turn of Kimi K2 opens with the spec's string, to the byte."""
    assert choose_template("moonshotai/kimi-k2").user_open == KIMI_K2_USER


@pytest.mark.parametrize(
    "model",
    [
        "deepseek-ai/DeepSeek-V2.5",
        "deepseek-ai/DeepSeek-R1",
        "deepseek/deepseek-r1-0528",
        "deepseek/deepseek-r1-distill-qwen-32b",
        "deepseek/deepseek-v3.1-terminus",
        "deepseek/deepseek-v3.2",
        "deepseek/deepseek-v4-pro",
    ],
)
def test_later_deepseek_models_open_the_user_turn_alike(model):
    """Every DeepSeek model from V2.5 on has the spec's user opener."""
    assert choose_template(model).user_open == DEEPSEEK_USER


@pytest.mark.parametrize(("model", "family"), KNOWN)
def test_model_has_the_template_of_its_family(model, family):
    """A known spelling of a model gives its family, and no assumption is made."""
    template = choose_template(model)

    assert (template.family, template.assumed) == (family, False)


@pytest.mark.parametrize(("model", "family"), ASSUMED)
def test_likeness_is_reported_as_an_assumption(model, family):
    """A model that only resembles a family gets its strings, marked as assumed."""
    template = choose_template(model)

    assert (template.family, template.assumed) == (family, True)
    assert template.user_open == template_named(family).user_open


@pytest.mark.parametrize(("model", "hint"), UNKNOWN)
def test_unknown_model_is_an_error_that_helps(model, hint):
    """A model without a template is refused, with the nearest family and a way out."""
    with pytest.raises(UnknownTemplateError) as caught:
        choose_template(model)

    message = str(caught.value)
    assert repr(model) in message
    assert hint in message
    assert "audited_endpoint:" in message
    assert "user_open:" in message


def test_snippets_of_the_error_are_yaml_that_we_accept():
    """What the error tells the user to write works when it is written."""
    with pytest.raises(UnknownTemplateError) as caught:
        choose_template("z-ai/glm-5.2")
    by_name, by_strings = re.split("or give the strings themselves:", str(caught.value))

    named = yaml.safe_load(by_name[by_name.index("audited_endpoint:") :])
    spelled = yaml.safe_load(by_strings)

    assert template_named(named["audited_endpoint"]["template"]).family == "glm-5.1"
    assert (
        inline_template(spelled["audited_endpoint"]["template"]).user_open == "<|im_start|>user\n"
    )


@pytest.mark.parametrize("model", [model for model, _ in KNOWN + ASSUMED])
def test_families_exclude_one_another(model):
    """Exactly one family matches a model, whatever the order of the data file."""
    assert len(_matching(_bare_name(model))) == 1


@pytest.mark.parametrize("model", [model for model, _ in UNKNOWN])
def test_no_family_catches_unknown_models(model):
    """No pattern is so wide that a model of another make falls into it."""
    assert _matching(_bare_name(model)) == []


def test_two_matching_families_are_an_error(monkeypatch):
    """Where the data file contradicts itself, nothing is chosen silently."""
    twins = {name: ChatTemplate(family=name, user_open=name, models=("m",)) for name in "ab"}
    monkeypatch.setattr("uncensoring_chinese_models.models.templates.load_families", lambda: twins)

    with pytest.raises(UnknownTemplateError, match=r"several .* 'm'.* a, b"):
        choose_template("m")


@pytest.mark.parametrize("listed", ["models", "assumed_models"])
def test_every_pattern_is_exercised(listed):
    """Each pattern of the data file matches some real model of the tables above."""
    names = [_bare_name(model) for model, _ in KNOWN + ASSUMED]
    patterns = [p for template in load_families().values() for p in getattr(template, listed)]

    assert [p for p in patterns if not any(re.fullmatch(p, name) for name in names)] == []


def test_there_are_59_families():
    """No family was lost: the 57 measured or read ones and the spec's own."""
    assert len(load_families()) == 59


def test_chatml_is_chosen_by_name_only():
    """The generic format never matches a model by itself."""
    assert (template_named("chatml").models, template_named("chatml").assumed_models) == ((), ())


@pytest.mark.parametrize("template", load_families().values(), ids=lambda template: template.family)
def test_family_is_complete(template):
    """Each family says where it comes from, when to stop, and why it is unverified if it is."""
    assert template.source
    assert all(template.stop)
    assert template.stop
    assert template.verified is not bool(template.verified_note)
    assert template.user_open.startswith(template.bos)
    assert template.user_open.endswith(template.user_turn_opener)
    assert template.assumed is False


@pytest.mark.parametrize("template", load_families().values(), ids=lambda template: template.family)
def test_stop_string_stands_where_the_user_turn_ends(template):
    """A model that closes the user turn and opens the assistant's meets a stop string."""
    ending = template.user_close + template.assistant_open

    assert any(stop in ending for stop in template.stop)


@pytest.mark.parametrize(
    ("family", "verified"),
    [
        ("deepseek-v3", True),
        ("deepseek-v3.1", False),
        ("kimi-k2", False),
        ("kimi-k2-0905", False),
        ("glm-4.6", True),
        ("mimo-v2", False),
    ],
)
def test_only_rendered_templates_are_verified(family, verified):
    """Strings that were quoted, abridged or only read never count as verified."""
    assert template_named(family).verified is verified


@pytest.mark.parametrize(
    ("family", "nearest"),
    [("deepseek", "deepseek-v3"), ("Kimi-K2", "kimi-k2"), ("chat-ml", "chatml"), ("\0", "chatml")],
)
def test_unknown_family_is_an_error_that_helps(family, nearest):
    """A misspelt family is refused, with the nearest ones and a way out."""
    with pytest.raises(UnknownTemplateError) as caught:
        template_named(family)

    assert nearest in str(caught.value)
    assert "user_open:" in str(caught.value)


def test_role_tokens_of_deepseek():
    """The tokens that would end the user turn of DeepSeek are all there, each once."""
    assert template_named("deepseek-v3").role_tokens() == (
        "<\uff5cAssistant\uff5c>",
        "<\uff5cUser\uff5c>",
        "<\uff5cend\u2581of\u2581sentence\uff5c>",
        "<\uff5cbegin\u2581of\u2581sentence\uff5c>",
    )


@given(template=FAMILIES)
def test_role_tokens_are_no_common_text(template):
    """Whitespace and one or two characters are no role tokens, and none stands there twice."""
    tokens = template.role_tokens()

    assert tokens
    assert all(len(token.strip()) >= 3 for token in tokens)
    assert len(set(tokens)) == len(tokens)


@given(template=FAMILIES, probe=st.text())
def test_probe_is_sent_unchanged(template, probe):
    """Putting a probe behind the user opener alters neither of them."""
    prompt = template.user_open + probe

    assert prompt.removeprefix(template.user_open) == probe


@given(template=FAMILIES, before=st.text(), after=st.text(), data=st.data())
def test_planted_role_token_is_found(template, before, after, data):
    """Wherever a turn change stands in a probe, a role token points at it."""
    marks = (*template.stop, template.bos, template.user_turn_opener, template.assistant_open)
    planted = data.draw(st.sampled_from([mark for mark in marks if mark]))
    probe = before + planted + after

    assert any(token in probe for token in template.role_tokens())


@pytest.mark.parametrize("token", ["User:", "Assistant:", "\n\nAssistant:"])
def test_plain_text_roles_are_role_tokens(token):
    """Roles written as plain words count too, with and without the whitespace around them."""
    assert token in template_named("deepseek-v2").role_tokens()


def test_as_json_survives_a_json_file():
    """The record of a template reads back whole, without the model patterns."""
    record = json.loads(json.dumps(choose_template("moonshotai/kimi-k2").as_json()))

    assert record == choose_template("moonshotai/kimi-k2").as_json()
    assert set(record) == {
        "family",
        "user_open",
        "user_close",
        "assistant_open",
        "assistant_open_no_think",
        "user_open_no_think",
        "user_close_no_think",
        "bos",
        "user_turn_opener",
        "stop",
        "eos",
        "verified",
        "verified_note",
        "source",
        "note",
        "assumed",
    }


def test_inline_template_has_empty_defaults():
    """Only user_open is required; the rest is empty and unverified."""
    template = inline_template({"user_open": "Q: "})

    assert template == ChatTemplate(
        family="inline",
        user_open="Q: ",
        verified_note="given in the config",
        source="the config",
    )
    assert template.verified is False


def test_inline_template_takes_all_its_keys():
    """Every key of an inline template arrives unchanged."""
    given_keys = {
        "user_open": "<s>[INST] ",
        "user_close": "[/INST]",
        "assistant_open": "",
        "assistant_open_no_think": None,
        "stop": ["[/INST]", "</s>"],
        "bos": "<s>",
    }

    record = inline_template(given_keys).as_json()

    assert {key: record[key] for key in given_keys} == given_keys


@pytest.mark.parametrize(
    ("mapping", "complaint"),
    [
        ({}, "user_open is missing"),
        ({"user_close": "x"}, "user_open is missing"),
        ({"user_opn": "x"}, "did you mean user_open"),
        ({"user_open": "x", "stops": []}, "did you mean stop"),
        ({"user_open": "x", 7: "y"}, "unknown key 7"),
        ({"user_open": "x", "verified": True}, "unknown key 'verified'"),
        ({"user_open": None}, "user_open must be text"),
        ({"user_open": 5}, "user_open must be text, not 5"),
        ({"user_open": "x", "bos": ["x"]}, "bos must be text"),
        ({"user_open": "x", "assistant_open": None}, "assistant_open must be text"),
        ({"user_open": "x", "assistant_open_no_think": False}, "must be text, not False"),
        ({"user_open": "x", "stop": "<|im_end|>"}, "stop must be a list"),
        ({"user_open": "x", "stop": [1]}, "stop must be a list"),
        ({"user_open": "x", "stop": [""]}, "stop must be a list of non-empty"),
        ({"user_open": "<|user|>", "bos": "[gMASK]"}, "user_open must begin with bos"),
    ],
)
def test_inline_template_refuses(mapping, complaint):
    """A mistake in an inline template is named before anything is spent."""
    with pytest.raises(ConfigError, match=re.escape(complaint)):
        inline_template(mapping)
