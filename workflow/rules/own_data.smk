# Studies that bring their own data, curves and units: one job each, from files to records.
OWN = [name for name, s in STUDIES.items() if s["kind"] in groupcf_config.OWN_DATA]


ruleorder: own_study > study


rule own_study:
    output:
        f"{RESULTS}/studies/{{study}}.json",
    log:
        "logs/study/{study}.log",
    benchmark:
        "logs/study/{study}.tsv"
    wildcard_constraints:
        study="|".join(OWN) or "(?!)",
    conda:
        "../../envs/groupcf.yaml"
    params:
        study=lambda w: STUDIES[w.study],
        options=lambda w: groupcf_config.solve_options(config, STUDIES[w.study]),
        records=lambda w: RECORDS,
        cache=lambda w: config["data"]["cache"],
        files=lambda w: config["data"].get("files", {}),
        code=lambda w: code(groupcf_config.OWN_DATA[STUDIES[w.study]["kind"]]),
    message:
        "study {wildcards.study}"
    script:
        "../scripts/own_study.py"
