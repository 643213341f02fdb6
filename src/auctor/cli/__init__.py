"""The command line: `main` starts it, `app` lists the commands, one file holds each."""
