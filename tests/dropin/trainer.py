"""transformers.Trainer on the inputs of models.py."""

import torch
import transformers

from tests.dropin import models


class Rows(torch.utils.data.Dataset):
    """The inputs of a model, row by row."""

    def __init__(self, name):
        given = {**models.inputs(name), "labels": models.labels(name)}
        self.rows = [{key: value[i] for key, value in given.items()} for i in range(2)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def trainer_losses(model, name, folder, resume=None, **settings):
    """(the trainer, the losses of its steps)."""
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=2,
        max_steps=20,
        learning_rate=1e-2,
        weight_decay=0.1,
        lr_scheduler_type="constant",
        logging_steps=1,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        **{"save_strategy": "no", **settings},
    )
    trainer = transformers.Trainer(model=model, args=arguments, train_dataset=Rows(name))
    trainer.train(resume_from_checkpoint=resume)
    return trainer, [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
