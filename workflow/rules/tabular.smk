rule study:
    input:
        data=study_data,
        classifiers=study_classifiers,
        cells=study_cells,
    output:
        f"{RESULTS}/studies/{{study}}.json",
    log:
        "logs/study/{study}.log",
    benchmark:
        "logs/study/{study}.tsv"
    conda:
        "../../envs/groupcf.yaml"
    threads: study_threads
    params:
        study=lambda w: STUDIES[w.study],
        options=lambda w: groupcf_config.solve_options(config, STUDIES[w.study]),
        records=lambda w: RECORDS,
        code=code(groupcf_config.SOLVE_CODE),
    message:
        "study {wildcards.study}"
    script:
        "../scripts/study.py"


rule cell:
    input:
        data=study_data,
        classifiers=study_classifiers,
    output:
        f"{RESULTS}/cells/{{study}}/{{order}}.json",
    log:
        "logs/cell/{study}-{order}.log",
    benchmark:
        "logs/cell/{study}-{order}.tsv"
    conda:
        "../../envs/groupcf.yaml"
    threads: study_threads
    params:
        study=lambda w: STUDIES[w.study],
        options=lambda w: groupcf_config.solve_options(config, STUDIES[w.study]),
        records=lambda w: RECORDS,
        code=code(groupcf_config.SOLVE_CODE),
    message:
        "study {wildcards.study}, solve {wildcards.order}"
    script:
        "../scripts/study.py"
