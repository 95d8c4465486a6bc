from pathlib import Path

from groupcf.pipeline.logs import logged
from groupcf.pipeline.solving import run_study

with logged(snakemake.log[0]):
    study = snakemake.params.study
    run_study(
        study,
        Path(snakemake.input.data),
        dict(zip(study["classifiers"], map(Path, snakemake.input.classifiers), strict=True)),
        Path(snakemake.params.records),
        Path(snakemake.output[0]),
        snakemake.params.options,
        only=int(order) if (order := snakemake.wildcards.get("order")) else None,
    )
