"""An auditor made of rules: the offline default, and the yardstick for an auditor that is an LLM."""
