"""What words calls have: tables of Words.def and OtherWords.def, signatures, and the types of arguments."""
