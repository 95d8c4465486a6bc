rule classifier:
    input:
        data=f"{PROCESSED}/{{dataset}}-{{variant}}.json",
    output:
        f"{RESULTS}/classifiers/{{dataset}}-{{variant}}-{{share}}-{{classifier}}.json",
    log:
        "logs/classifier/{dataset}-{variant}-{share}-{classifier}.log",
    benchmark:
        "logs/classifier/{dataset}-{variant}-{share}-{classifier}.tsv"
    conda:
        "../../envs/groupcf.yaml"
    params:
        code=code(groupcf_config.CLASSIFIER_CODE),
    message:
        "{wildcards.classifier} on {wildcards.dataset} ({wildcards.variant}), {wildcards.share} % test rows"
    script:
        "../scripts/classifier.py"
