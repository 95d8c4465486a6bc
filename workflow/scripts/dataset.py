from pathlib import Path

from groupcf.pipeline.data import prepare
from groupcf.pipeline.logs import logged

with logged(snakemake.log[0]):
    w = snakemake.wildcards
    prepare(w.dataset, w.variant, Path(snakemake.output[0]), Path(snakemake.params.cache))
