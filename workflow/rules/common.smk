# What the rules share: parameters that decide whether a job is up to date.


def study_data(wildcards):
    return f"{PROCESSED}/{groupcf_config.data_key(STUDIES[wildcards.study])}.json"


def study_classifiers(wildcards):
    study = STUDIES[wildcards.study]
    keys = [groupcf_config.training_key(study, name) for name in study["classifiers"]]
    return [f"{RESULTS}/classifiers/{key}.json" for key in keys]


def study_cells(wildcards):
    """The solves that are jobs of their own and come before the study's own job."""
    study = STUDIES[wildcards.study]
    if study.get("timed") != "solve":
        return []
    count = len(list(groupcf_config.solves(study)))
    return expand(
        f"{RESULTS}/cells/{wildcards.study}/{{order}}.json", order=range(count)
    )


def drawn_with(wildcards):
    """The studies whose solves a figure shows beside the study's own."""
    others = STUDIES[wildcards.study]["figure"].get("with", [])
    return [f"{RESULTS}/studies/{other}.json" for other in others if other in STUDIES]


def study_threads(wildcards):
    """A timed job takes all cores, so that nothing runs beside it."""
    if STUDIES[wildcards.study].get("timed") and workflow.resource_settings.cores:
        return workflow.resource_settings.cores
    return config["solve"]["threads"]


def code(packages):
    """Fingerprint of the code a job runs: a change of it, and only of it, runs the job again."""
    return groupcf_config.fingerprint(*packages)
