from pathlib import Path

from groupcf.pipeline.logs import logged
from groupcf.pipeline.training import train_classifier

with logged(snakemake.log[0]):
    w = snakemake.wildcards
    train_classifier(
        w.classifier,
        Path(snakemake.input.data),
        Path(snakemake.output[0]),
        test_share=int(w.share) / 100,
    )
