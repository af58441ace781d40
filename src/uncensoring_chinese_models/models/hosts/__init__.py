"""What a host says in its answers: where it speaks, and what it says of blocks and errors."""
