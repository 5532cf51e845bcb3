"""Pictures: values in, SVG or HTML out."""
