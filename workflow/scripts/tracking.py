from pathlib import Path

from groupcf.pipeline.commands import write_tracking
from groupcf.pipeline.logs import logged

with logged(snakemake.log[0]):
    p = snakemake.params
    results = Path(p.results)
    write_tracking(
        Path(snakemake.output[0]),
        records_dir=Path(p.records),
        figures_dir=results / "figures",
        studies=p.studies,
        results=results,
        uri=p.uri,
        invocation="snakemake",
    )
