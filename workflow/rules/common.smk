# What the rules share: parameters that decide whether a job is up to date.


def study_data(wildcards):
    return f"{PROCESSED}/{groupcf_config.data_key(STUDIES[wildcards.study])}.json"


def study_classifiers(wildcards):
    study = STUDIES[wildcards.study]
    stem = f"{RESULTS}/classifiers/{groupcf_config.data_key(study)}"
    return [f"{stem}-{name}.json" for name in study["classifiers"]]


def code(packages):
    """Fingerprint of the code a job runs: a change of it, and only of it, runs the job again."""
    return groupcf_config.fingerprint(*packages)
