"""Train and measure the model of stances."""
