"""Why a driver ended, what helps against it, and when to start again."""
