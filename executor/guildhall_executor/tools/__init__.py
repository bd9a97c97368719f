"""The tools a role can be given, one module per group: what the model may say, and what it is shown in return."""
