from groupcf.datasets import where


rule dataset:
    output:
        f"{PROCESSED}/{{dataset}}-{{variant}}.json",
    log:
        "logs/dataset/{dataset}-{variant}.log",
    benchmark:
        "logs/dataset/{dataset}-{variant}.tsv"
    conda:
        "../../envs/groupcf.yaml"
    params:
        cache=lambda w: config["data"]["cache"],
        source=lambda w: where(w.dataset, cache=Path(config["data"]["cache"])),
        code=code(groupcf_config.DATA_CODE),
    message:
        "data set {wildcards.dataset} ({wildcards.variant})"
    script:
        "../scripts/dataset.py"
