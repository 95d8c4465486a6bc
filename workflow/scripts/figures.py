from pathlib import Path

from groupcf.pipeline.logs import logged
from groupcf.pipeline.reporting import make_figures

with logged(snakemake.log[0]):
    make_figures(snakemake.params.study, Path(snakemake.params.records), Path(snakemake.output[0]))
