from pathlib import Path

from groupcf.pipeline.logs import logged
from groupcf.pipeline.training import train_classifier

with logged(snakemake.log[0]):
    train_classifier(
        snakemake.wildcards.classifier, Path(snakemake.input.data), Path(snakemake.output[0])
    )
