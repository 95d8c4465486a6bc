from pathlib import Path

from groupcf.pipeline.logs import logged
from groupcf.pipeline.studies.functional import run_functional

with logged(snakemake.log[0]):
    run_functional(
        snakemake.params.study,
        Path(snakemake.params.cache),
        Path(snakemake.params.records),
        Path(snakemake.output[0]),
        snakemake.params.options,
    )
