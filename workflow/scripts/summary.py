from pathlib import Path

from groupcf.pipeline.logs import logged
from groupcf.pipeline.reporting import write_summary

with logged(snakemake.log[0]):
    write_summary(
        Path(snakemake.params.records), snakemake.params.studies, Path(snakemake.output[0])
    )
