"""What a person says of samples."""
