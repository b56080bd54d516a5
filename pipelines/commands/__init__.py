"""One module per subcommand of ``sluice``; each exports ``command``."""
