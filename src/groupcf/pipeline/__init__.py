"""What the rules of the workflow call: data, training, solving, reporting."""
