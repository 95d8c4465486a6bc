rule study:
    input:
        data=study_data,
        classifiers=study_classifiers,
    output:
        f"{RESULTS}/studies/{{study}}.json",
    log:
        "logs/study/{study}.log",
    benchmark:
        "logs/study/{study}.tsv"
    conda:
        "../../envs/groupcf.yaml"
    threads: config["solve"]["threads"]
    params:
        study=lambda w: STUDIES[w.study],
        options=config["solve"],
        records=lambda w: RECORDS,
        code=code(groupcf_config.SOLVE_CODE),
    message:
        "study {wildcards.study}"
    script:
        "../scripts/study.py"
