rule figures:
    input:
        f"{RESULTS}/studies/{{study}}.json",
        drawn_with,
    output:
        f"{RESULTS}/figures/{{study}}/figures.json",
    log:
        "logs/figures/{study}.log",
    conda:
        "../../envs/groupcf.yaml"
    params:
        study=lambda w: STUDIES[w.study],
        records=lambda w: RECORDS,
        code=code(groupcf_config.REPORT_CODE),
    message:
        "figures of {wildcards.study}"
    script:
        "../scripts/figures.py"


rule summary:
    input:
        expand(f"{RESULTS}/studies/{{study}}.json", study=STUDIES),
    output:
        f"{RESULTS}/summary.csv",
    log:
        "logs/summary.log",
    conda:
        "../../envs/groupcf.yaml"
    params:
        studies=list(STUDIES),
        records=lambda w: RECORDS,
        code=code(groupcf_config.REPORT_CODE),
    message:
        "summary of all solves"
    script:
        "../scripts/summary.py"


rule report:
    input:
        studies=expand(f"{RESULTS}/studies/{{study}}.json", study=STUDIES),
        figures=expand(f"{RESULTS}/figures/{{study}}/figures.json", study=STUDIES),
    output:
        f"{RESULTS}/report.html",
    log:
        "logs/report.log",
    conda:
        "../../envs/groupcf.yaml"
    params:
        studies=STUDIES,
        records=lambda w: RECORDS,
        figures=lambda w: f"{RESULTS}/figures",
        code=code(groupcf_config.REPORT_CODE),
    message:
        "report of all studies"
    script:
        "../scripts/report.py"
