"""Steps shared by methods: pure, or over ports."""
