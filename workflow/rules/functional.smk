# Studies of curves: one job each, from the archive's files to records.
FUNCTIONAL = [name for name, s in STUDIES.items() if s["kind"] == "functional"]


ruleorder: functional_study > study


rule functional_study:
    output:
        f"{RESULTS}/studies/{{study}}.json",
    log:
        "logs/study/{study}.log",
    benchmark:
        "logs/study/{study}.tsv"
    wildcard_constraints:
        study="|".join(FUNCTIONAL) or "(?!)",
    conda:
        "../../envs/groupcf.yaml"
    params:
        study=lambda w: STUDIES[w.study],
        options=lambda w: groupcf_config.solve_options(config, STUDIES[w.study]),
        records=lambda w: RECORDS,
        cache=lambda w: config["data"]["cache"],
        code=code((*groupcf_config.SOLVE_CODE, "datasets", "functional")),
    message:
        "study {wildcards.study}"
    script:
        "../scripts/functional.py"
