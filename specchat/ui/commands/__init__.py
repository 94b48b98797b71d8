"""What a user can have done: one table, from which keys, foot, help, slash commands and the palette all come."""
