"""Optimizers and schedules as text that means the same in this package and in torch.

`p` are the parameters, `model` is their module, `o` the optimizer, `S` is lr_scheduler.
"""

OPTIMIZERS = [
    "SGD(p, lr=0.1)",
    "SGD(p, lr=0.1, momentum=0.9)",
    "SGD(p, lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.01)",
    "SGD(p, lr=0.1, momentum=0.9, nesterov=True, maximize=True)",
    "SGD(p, lr=0.1, foreach=False, differentiable=False, fused=None)",
    "Adam(p, lr=0.01)",
    "Adam(p, lr=0.01, betas=(0.8, 0.9), eps=1e-4, weight_decay=0.1, amsgrad=True)",
    "Adam(p, maximize=True, decoupled_weight_decay=True, weight_decay=0.1)",
    "AdamW(p, lr=0.01)",
    "AdamW(p, lr=torch.tensor(0.01), amsgrad=True)",
    "Adamax(p, lr=0.01)",
    "Adamax(p, weight_decay=0.1, maximize=True)",
    "NAdam(p, lr=0.01)",
    "NAdam(p, weight_decay=0.1, decoupled_weight_decay=True, maximize=True)",
    "NAdam(p, weight_decay=0.1, momentum_decay=0.1)",
    "RAdam(p, lr=0.01)",
    "RAdam(p, lr=0.01, betas=(0.9, 0.8), weight_decay=0.1, decoupled_weight_decay=True)",
    "RAdam(p, lr=0.01, weight_decay=0.1, maximize=True)",
    "Adagrad(p, lr=0.1)",
    "Adagrad(p, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5, maximize=True)",
    "Adadelta(p)",
    "Adadelta(p, lr=0.5, rho=0.5, eps=1e-3, weight_decay=0.1, maximize=True)",
    "RMSprop(p)",
    "RMSprop(p, alpha=0.5, momentum=0.9, centered=True, weight_decay=0.1)",
    "RMSprop(p, centered=True, maximize=True)",
    "Rprop(p)",
    "Rprop(p, lr=0.1, etas=(0.3, 1.5), step_sizes=(0.05, 0.12), maximize=True)",
    "ASGD(p)",
    "ASGD(p, lr=0.1, lambd=0.1, alpha=0.5, t0=2, weight_decay=0.1, maximize=True)",
    "Adafactor(p)",
    "Adafactor(p, lr=0.1, eps=(1e-5, 1e-2), d=2.0, weight_decay=0.1, maximize=True)",
    "Muon([p[0]], lr=0.1)",
    "Muon([p[0]], lr=0.1, nesterov=False, adjust_lr_fn='match_rms_adamw', weight_decay=0)",
    "SGD([{'params': [p[0]], 'lr': 0.5}, {'params': p[1:]}], lr=0.1, momentum=0.5)",
    "Adam(list(model.named_parameters()), lr=0.01)",
    "SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1, foreach=True)",
    "SGD(p, lr=0.1, weight_decay=0.1, maximize=True, fused=True)",
    "Adam(p, lr=0.01, weight_decay=0.1, foreach=True)",
    "Adam(p, lr=0.01, amsgrad=True, maximize=True, fused=True)",
    "AdamW(p, lr=0.01, foreach=True)",
    "AdamW(p, lr=0.01, fused=True)",
    "Adagrad(p, lr=0.1, lr_decay=0.1, foreach=True)",
    "Adagrad(p, lr=0.1, fused=True)",
    *[
        f"{name}(p, foreach=True)"
        for name in ("Adamax", "NAdam", "RAdam", "Adadelta", "RMSprop", "Rprop", "ASGD")
    ],
]

SCHEDULES = [
    "S.LambdaLR(o, lambda epoch: 0.9**epoch)",
    "S.MultiplicativeLR(o, lambda epoch: 0.9)",
    "S.StepLR(o, 3, gamma=0.5)",
    "S.MultiStepLR(o, [2, 2, 5], gamma=0.5)",
    "S.ConstantLR(o, 0.25, total_iters=3)",
    "S.LinearLR(o, 0.25, 0.75, total_iters=4)",
    "S.ExponentialLR(o, 0.9)",
    "S.PolynomialLR(o, total_iters=5, power=2.0)",
    "S.CosineAnnealingLR(o, 4, eta_min=0.01)",
    "S.CosineAnnealingWarmRestarts(o, 2, T_mult=2, eta_min=0.01)",
    "S.CyclicLR(o, 0.1, 0.5, step_size_up=2, step_size_down=3)",
    "S.CyclicLR(o, 0.1, 0.5, step_size_up=2, mode='triangular2', cycle_momentum=False)",
    "S.CyclicLR(o, 0.1, [0.5, 0.6], step_size_up=2, mode='exp_range', gamma=0.9)",
    "S.OneCycleLR(o, 0.5, total_steps=12)",
    "S.OneCycleLR(o, [0.5, 0.7], epochs=3, steps_per_epoch=4, anneal_strategy='linear', "
    "three_phase=True)",
    "S.ChainedScheduler([S.ExponentialLR(o, 0.9), S.ConstantLR(o, 0.5, total_iters=3)])",
    "S.SequentialLR(o, [S.ConstantLR(o, 0.5, total_iters=2), S.ExponentialLR(o, 0.9)], [4])",
    "S.SequentialLR(o, [S.LinearLR(o, 0.1, total_iters=3), S.CosineAnnealingLR(o, 5), "
    "S.StepLR(o, 1, 0.5)], [3, 8])",
    "torch.optim.swa_utils.SWALR(o, 0.05, anneal_epochs=4)",
    "torch.optim.swa_utils.SWALR(o, 0.05, anneal_epochs=3, anneal_strategy='linear')",
]
