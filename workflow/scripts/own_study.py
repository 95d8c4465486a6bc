from pathlib import Path

from groupcf.pipeline.logs import logged
from groupcf.pipeline.solving import run_own

with logged(snakemake.log[0]):
    run_own(
        snakemake.params.study,
        Path(snakemake.params.cache),
        snakemake.params.files,
        Path(snakemake.params.records),
        Path(snakemake.output[0]),
        snakemake.params.options,
    )
