from pathlib import Path

from groupcf.pipeline.logs import logged
from groupcf.pipeline.reporting import write_report

with logged(snakemake.log[0]):
    p = snakemake.params
    write_report(Path(p.records), Path(p.figures), p.studies, Path(snakemake.output[0]))
