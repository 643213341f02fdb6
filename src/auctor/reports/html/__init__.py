"""The HTML report: `page` fills the templates, `figures` and `svg` draw."""
