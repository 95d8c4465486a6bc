# groupcf: from raw data to verified, tracked, reported counterfactuals.
#
#   snakemake --cores 8                 everything in config/config.yaml
#   snakemake --configfile config/smoke.yaml --cores 2
#
# `make run` does the same, removes stale locks and says where the results are.
from pathlib import Path

from snakemake.utils import min_version, validate

from groupcf.pipeline import config as groupcf_config

min_version("9.0")


configfile: "config/config.yaml"


validate(config, "workflow/schemas/config.schema.yaml")

STUDIES = groupcf_config.load_studies(config)
RESULTS = config["results"]
RECORDS = f"{RESULTS}/records"
PROCESSED = config["data"]["processed"]


wildcard_constraints:
    study="|".join(STUDIES),
    dataset="[a-z0-9_]+",
    variant="[a-z]+",
    classifier="[a-z_]+",
    share="[0-9]+",
    order="[0-9]+",


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/classifiers.smk"
include: "workflow/rules/tabular.smk"
include: "workflow/rules/own_data.smk"
include: "workflow/rules/tracking.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        f"{RESULTS}/report.html",
        f"{RESULTS}/summary.csv",
        f"{RESULTS}/tracking.json" if config["tracking"]["enabled"] else [],
