"""Keys of large transformers and the partition rules that split them, for the case of rules.

Both sides of the case read the same two files, which data.rules_files writes from here.
"""

# Rules of published model families, then those made from layer hooks, then the catch-alls.
RULES = [
    r"embed_tokens/embedding",
    r"self_attn/(q_proj|k_proj|v_proj)/kernel",
    r"self_attn/o_proj/kernel",
    r"self_attn/.*proj/bias",
    r"mlp/(gate_proj|up_proj)/kernel",
    r"mlp/down_proj/kernel",
    r"lm_head/kernel",
    r"score/kernel",
    r"mlp/experts/.*bias",
    r"mlp/gate/e_score_correction_bias",
    r"self_attn/(q_a_layernorm|kv_a_layernorm)/kernel",
    r"block_sparse_moe/experts/(w1|w3)/kernel",
    r"model/visual/blocks/.*/attn/qkv/kernel",
    r"model/language_model/layers/.*/mlp/down_proj/kernel",
    r"transformer/layers/\d+/feed_forward/(gate_proj|up_proj)/kernel",
    r"blocks/\d+/(norm0|norm1)/scale",
    r"self_attn/(q_layernorm|k_layernorm)/norms/\d+/bias",
    r"(text|vision)_model/encoder/layers/\d+/mlp/fc2/kernel",
    r"model/encoder/conv[12]/kernel",
    r"norm(1|2)/scale",
    r"experts/mlp/(w1|v1)",
    r"mamba/(dt_bias|A_log|D)",
    r"mixer/conv1d/(kernel|bias)",
    r"mixer/in_proj/bias",
    r".*/(ln_1|ln_2|ln_cross_attn|ln_f)/scale",
    r"layers.*/self_attn/(q_proj|k_proj|v_proj)/bias",
    r".*attn/.*(q_proj|k_proj|v_proj)/kernel",
    r"head/probe",
    r"logit_scale",
    r"experts/.*/gate_proj/kernel",
    r"experts/.*/down_proj/kernel",
    r"^(?:.*/)?model/layers/\d+/self_attn/q_norm/kernel(?:/.*)?$",
    r"^(?:.*/)?model/layers/\d+/mlp/router/kernel(?:/.*)?$",
    r"^(?:.*/)?decoder/layers/\d+/cross_attn/o_proj/kernel(?:/.*)?$",
    r"^(?:.*/)?lm_head/kernel(?:/.*)?$",
    r"^(?!.*(?:embedding|norm|kernel|scale|weight)).*adapter.*$",
    r".*(input_layernorm|post_attention_layernorm|norm)/kernel",
    r".*(norm|layernorm).*",
    r".*bias",
    r".*",
]

# What stands behind the layer number.  The second half meets no rule but the last.
LEAVES = [
    "self_attn/q_proj/kernel",
    "self_attn/k_proj/kernel",
    "self_attn/v_proj/bias",
    "self_attn/o_proj/kernel",
    "self_attn/q_norm/kernel",
    "mlp/gate_proj/kernel",
    "mlp/down_proj/kernel",
    "mlp/experts/gate_proj/kernel",
    "input_layernorm/kernel",
    "post_attention_layernorm/kernel",
    "mamba/A_log",
    "mixer/conv1d/kernel",
    "attention/wq/weight",
    "attention/wk/weight",
    "attention/wv/weight",
    "attention/wo/weight",
    "attention/query_key_value/weight",
    "feed_forward/w1/weight",
    "feed_forward/w2/weight",
    "feed_forward/w3/weight",
    "moe/router/gate/weight",
    "self_attn/rotary_emb/inv_freq",
    "self_attn/relative_position/table",
    "mlp/dense_h_to_4h/weight",
]
ROOTS = ["model", "opt_state/0/mu/model", "opt_state/0/nu/model", "ema/params/model",
         "model/language_model"]


def rules():
    """[regex, spec] each, as they stand in the JSON file; specs are in turn by kind of layer."""
    specs = [[["fsdp", "sp"], "tp"], ["tp", ["fsdp", "sp"]], [None]]
    return [[rule, specs[i % len(specs)]] for i, rule in enumerate(RULES[:-1])] + [[RULES[-1], []]]


def keys(count):
    each = len(ROOTS) * len(LEAVES)
    return [f"{ROOTS[i % each // len(LEAVES)]}/layers/{i // each}/{LEAVES[i % len(LEAVES)]}"
            for i in range(count)]
