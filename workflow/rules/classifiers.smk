rule classifier:
    input:
        data=f"{PROCESSED}/{{dataset}}-{{variant}}.json",
    output:
        f"{RESULTS}/classifiers/{{dataset}}-{{variant}}-{{classifier}}.json",
    log:
        "logs/classifier/{dataset}-{variant}-{classifier}.log",
    benchmark:
        "logs/classifier/{dataset}-{variant}-{classifier}.tsv"
    conda:
        "../../envs/groupcf.yaml"
    params:
        code=code(groupcf_config.CLASSIFIER_CODE),
    message:
        "{wildcards.classifier} on {wildcards.dataset} ({wildcards.variant})"
    script:
        "../scripts/classifier.py"
