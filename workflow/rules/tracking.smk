rule tracking:
    input:
        studies=expand(f"{RESULTS}/studies/{{study}}.json", study=STUDIES),
        figures=expand(f"{RESULTS}/figures/{{study}}/figures.json", study=STUDIES),
    output:
        f"{RESULTS}/tracking.json",
    log:
        "logs/tracking.log",
    conda:
        "../../envs/groupcf.yaml"
    params:
        uri=config["tracking"]["uri"],
        results=lambda w: RESULTS,
        records=lambda w: RECORDS,
        studies=list(STUDIES),
        code=code(["tracking", "records"]),
    message:
        "import of all records into MLflow"
    script:
        "../scripts/tracking.py"
