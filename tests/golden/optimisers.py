"""Optimisers, learning-rate schedules and clipping."""
import torch
import torch.nn as nn

from rules import MADE_WITH, ORDINAL_GRAD, numbers, symmetric


SGD, ADAM, ADAMW = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
OPTIMISERS = {  # name: (class, arguments beside lr, foreach and fused)
    "sgd": (SGD, {}),
    "sgd_momentum": (SGD, {"momentum": 0.9}),
    "sgd_nesterov": (SGD, {"momentum": 0.9, "nesterov": True}),
    "sgd_dampening": (SGD, {"momentum": 0.9, "dampening": 0.1}),
    "sgd_weight_decay": (SGD, {"weight_decay": 0.01}),
    "sgd_momentum_weight_decay": (SGD, {"momentum": 0.9, "weight_decay": 0.01}),
    "sgd_nesterov_weight_decay": (SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    "sgd_dampening_weight_decay": (SGD, {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}),
    "adam": (ADAM, {}),
    "adam_weight_decay": (ADAM, {"weight_decay": 0.01}),
    "adam_amsgrad": (ADAM, {"amsgrad": True}),
    "adam_betas_eps": (ADAM, {"betas": (0.8, 0.95), "eps": 1e-6}),
    "adam_short_memory": (ADAM, {"betas": (0.8, 0.5)}),
    "adam_short_memory_amsgrad": (ADAM, {"betas": (0.8, 0.5), "amsgrad": True}),
    "adamw": (ADAMW, {}),
    "adamw_weight_decay": (ADAMW, {"weight_decay": 0.1}),
    "adamw_amsgrad": (ADAMW, {"amsgrad": True}),
    "adamw_short_memory_amsgrad": (ADAMW, {"betas": (0.8, 0.5), "amsgrad": True}),
}
N_VECTOR, N_STEPS = 10, 5


def optimiser_steps(cls: type, lr: float, args: dict, dtype: torch.dtype) -> list[list[float]]:
    p = nn.Parameter(symmetric(0, (N_VECTOR,), dtype))
    opt = cls([p], lr=lr, foreach=False, fused=False, **args)
    after = []
    for step in range(N_STEPS):
        p.grad = symmetric(ORDINAL_GRAD + step, (N_VECTOR,), dtype)
        opt.step()
        after.append(numbers(p))
    return after


def optimiser_values() -> dict:
    variants = []
    for name, (cls, args) in OPTIMISERS.items():
        lr = 0.1 if cls is SGD else 0.01
        if cls is SGD:
            full = {"momentum": 0.0, "dampening": 0.0, "nesterov": False, "weight_decay": 0.0}
        else:
            full = {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01 if cls is ADAMW else 0.0, "amsgrad": False}
        group = cls([nn.Parameter(torch.zeros(1))], lr=lr, **args).param_groups[0]
        full |= args
        assert all(group[k] == v for k, v in full.items()), f"{name}: defaults of this PyTorch differ"
        variants.append({"name": name, "optimiser": cls.__name__.lower(), "lr": lr, **full,
                         "after_f64": optimiser_steps(cls, lr, args, torch.float64),
                         "after": optimiser_steps(cls, lr, args, torch.float32)})
    by = {v["name"]: v["after_f64"] for v in variants}
    assert by["adam_short_memory"] != by["adam_short_memory_amsgrad"], "amsgrad made no difference: useless fixture"
    return {"made_with": MADE_WITH, "start": numbers(symmetric(0, (N_VECTOR,), torch.float32)),
            "gradients": [numbers(symmetric(ORDINAL_GRAD + s, (N_VECTOR,), torch.float32)) for s in range(N_STEPS)],
            "variants": variants}


# ---- clipping of the global gradient norm ----------------------------------------------------------------------------

CLIPPED = {"sgd_momentum": (SGD, 0.1, {"momentum": 0.9}), "adamw": (ADAMW, 0.01, {})}
SHAPES = ((N_VECTOR,), (3, 4))  # two tensors: the norm runs over both
GRADIENT_SCALES = (1.0, 0.1, 4.0)  # by step: above, below and far above the limit


def clipping_steps(cls: type, lr: float, args: dict, dtype: torch.dtype) -> list[dict]:
    params = [nn.Parameter(symmetric(i, s, dtype)) for i, s in enumerate(SHAPES)]
    opt = cls(params, lr=lr, foreach=False, fused=False, **args)
    rows = []
    for step, scale in enumerate(GRADIENT_SCALES):
        for i, p in enumerate(params):
            p.grad = symmetric(ORDINAL_GRAD + 100 * i + step, p.shape, dtype, scale)
        norm = nn.utils.clip_grad_norm_(params, 1.0, foreach=False)
        clipped = [numbers(p.grad) for p in params]
        opt.step()
        rows.append({"norm": numbers(norm)[0], "clipped_gradients": clipped, "after": [numbers(p) for p in params]})
    return rows


def clipping_values() -> dict:
    out = []
    for name, (cls, lr, args) in CLIPPED.items():
        steps = clipping_steps(cls, lr, args, torch.float64)
        assert [r["norm"] > 1.0 for r in steps] == [True, False, True]
        out.append({"name": name, "optimiser": cls.__name__.lower(), "lr": lr, **args, "steps_f64": steps,
                    "steps": clipping_steps(cls, lr, args, torch.float32)})
    return {"made_with": MADE_WITH, "max_norm": 1.0, "shapes": SHAPES, "gradient_scales": GRADIENT_SCALES,
            "variants": out}


# ---- learning-rate schedules -----------------------------------------------------------------------------------------

LRS = torch.optim.lr_scheduler
SCHEDULES = {  # name: (class, arguments); 21 values each
    "step": (LRS.StepLR, {"step_size": 5, "gamma": 0.1}),
    "step_each": (LRS.StepLR, {"step_size": 1, "gamma": 0.95}),
    "cosine": (LRS.CosineAnnealingLR, {"T_max": 20, "eta_min": 0.0}),
    "cosine_eta_min": (LRS.CosineAnnealingLR, {"T_max": 20, "eta_min": 0.001}),
    "one_cycle": (LRS.OneCycleLR, {"max_lr": 0.1, "total_steps": 21, "cycle_momentum": False}),
    "one_cycle_momentum": (LRS.OneCycleLR, {"max_lr": 0.1, "total_steps": 21, "cycle_momentum": True}),
    "one_cycle_linear": (LRS.OneCycleLR, {"max_lr": 0.1, "total_steps": 21, "anneal_strategy": "linear",
                                          "pct_start": 0.25, "div_factor": 10.0, "final_div_factor": 100.0,
                                          "cycle_momentum": False}),
    "one_cycle_three_phase": (LRS.OneCycleLR, {"max_lr": 0.1, "total_steps": 21, "three_phase": True,
                                               "cycle_momentum": False}),
    "linear_warm_up": (LRS.LinearLR, {"start_factor": 1.0 / 3.0, "end_factor": 1.0, "total_iters": 5}),
    "linear_warm_up_long": (LRS.LinearLR, {"start_factor": 0.01, "end_factor": 1.0, "total_iters": 20}),
}


def schedule_values() -> dict:
    """lr[t] is the rate that update (or epoch) t uses, t = 0..20; base lr 0.1, in double."""
    out = []
    for name, (cls, args) in SCHEDULES.items():
        p = nn.Parameter(torch.zeros(1))
        p.grad = torch.zeros(1)
        opt = SGD([p], lr=0.1, momentum=0.9, foreach=False)
        schedule, lr, momentum = cls(opt, **args), [], []
        for t in range(21):
            lr.append(float(opt.param_groups[0]["lr"]))
            momentum.append(float(opt.param_groups[0]["momentum"]))
            opt.step()
            if t < 20:
                schedule.step()
        row = {"name": name, "schedule": cls.__name__, "arguments": args, "lr": lr}
        out.append(row | ({"momentum": momentum} if len(set(momentum)) > 1 else {}))
    return {"made_with": MADE_WITH, "base_lr": 0.1, "schedules": out}
