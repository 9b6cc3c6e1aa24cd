"""What commands show: tables, lines, JSON, progress and talk. Commands never print."""
