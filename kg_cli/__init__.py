INTERRUPTED = 130  # exit code after Ctrl-C
