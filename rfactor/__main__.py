"""`python -m rfactor`."""

from rfactor.cli.main import main

main()
