"""What a candidate's source says, read and never imported."""
